#include <algorithm>
#include <iterator>
#include <utility>

#include <unistd.h>

#include "probe/cpu_studies.hpp"

namespace plimsoll::probe {
namespace {

/// Where the kernel does not say what is free, this much can be had nearly everywhere.
constexpr Bytes kAssumedFree = kGiB;
/// Others want some of it while a study runs.
constexpr double kShare = 0.75;

void move_all(auto& to, auto& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

CpuHost cpu_host(std::string name) {
  const Bytes free = available_memory().value_or(kAssumedFree);
  return {.name = std::move(name),
          .cores = cores_here(),
          .memory = Bytes::rounded(kShare * static_cast<double>(free.count()))};
}

CpuWatch::CpuWatch() : conditions_(nullptr) {
  job::Hello hello;
  hello.device = "cpu";
  hello.process = ::getpid();
  conditions_.greeted(hello);
}

std::vector<std::string> CpuWatch::doubts() {
  conditions_.sample(0, true);  // the first look, and the last
  return measure::doubts(conditions_.finish(), false);
}

void append(Findings& to, Findings from) {
  move_all(to.vector_adds, from.vector_adds);
  move_all(to.products, from.products);
  move_all(to.rates, from.rates);
  for (std::string& remark : from.remarks)  // two studies may have the same to say
    if (std::ranges::find(to.remarks, remark) == to.remarks.end()) to.remarks.push_back(std::move(remark));
}

}  // namespace plimsoll::probe
