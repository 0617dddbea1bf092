#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "measure/conditions.hpp"
#include "probe/cores.hpp"
#include "probe/study.hpp"

/// The studies of the CPU. What does not fit into memory or time is left out, and a remark says so; an error
/// is that nothing could be measured at all.
namespace plimsoll::probe {

/// What they may use.
struct CpuHost {
  std::string name;  ///< of the processor
  Cores cores;
  Bytes memory;         ///< that all arrays of a study may take together
  double patience = 1;  ///< factor for the time that every figure may take; less: rougher and sooner
};
[[nodiscard]] CpuHost cpu_host(std::string name);

/// How far a study is, from 0 to 1, and at what.
using Progress = std::function<void(std::string_view what, double done)>;

/// Sums of two arrays by one thread and by all, beside a STREAM triad over the same arrays (rates
/// "stream-triad-one-thread" and "stream-triad").
[[nodiscard]] Result<Findings> add_vectors(const CpuHost& host, std::span<const std::int64_t> elements,
                                           const Progress& progress);

/// Rates "memory-read", -write, -copy, -triad by all threads, and the same with "-one-thread", by working set
/// from 16 KiB for a thread to 1 GiB in all.
[[nodiscard]] Result<Findings> memory_rates(const CpuHost& host, const Progress& progress);

/// Products of square matrices: naive, blocked, by a library.
[[nodiscard]] Result<Findings> multiply_matrices(const CpuHost& host, std::span<const std::int64_t> sizes,
                                                 const Progress& progress);

/// Rates "product-fp32" and "product-fp64", by the library or by the blocked product, whichever is faster.
[[nodiscard]] Result<Findings> product_rates(const CpuHost& host, const Progress& progress);

/// Rates "idle-power" and "load-power", and joules of a product and of a triad, where the processor's energy
/// counter may be read.
[[nodiscard]] Result<Findings> power_rates(const CpuHost& host, const Progress& progress);

/// Who else kept the processors busy between its beginning and the question.
class CpuWatch {
 public:
  CpuWatch();
  /// Empty where nothing speaks against the figures, or it is not known.
  [[nodiscard]] std::vector<std::string> doubts();

 private:
  measure::ConditionsWatch conditions_;
};

/// Adds what another study found.
void append(Findings& to, Findings from);

}  // namespace plimsoll::probe
