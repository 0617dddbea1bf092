#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "probe/blas.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/crew.hpp"
#include "probe/mapped_array.hpp"
#include "probe/sampling.hpp"
#include "probe/square_products.hpp"

namespace plimsoll::probe {
namespace {

constexpr double kLongest = 4;           // seconds that one product may take
constexpr double kSlow = 1;              // seconds from which on one product is measured once
constexpr double kSeconds = 2;           // for one size and method
constexpr std::int64_t kSmallest = 128;  // by which the time of larger ones is foreseen
constexpr std::int64_t kRateSizes[] = {8192, 4096, 2048, 1024};
constexpr double kRateSeconds = 1;  // for one product whose rate is a ceiling

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double cubed(std::int64_t size) {
  const auto n = static_cast<double>(size);
  return n * n * n;
}

std::string_view text_of(Method method) {
  switch (method) {
    case Method::naive: return "naive";
    case Method::blocked: return "blocked";
    case Method::library: return "library";
  }
  return "";
}

/// The three matrices of one size.
template <class Number>
struct Operands {
  MappedArray<Number> a, b, c;
  std::int64_t size;

  [[nodiscard]] static Result<Operands> make(std::int64_t size, const CpuHost& host) {
    if (bytes(size) > host.memory)
      return fail("{} are needed, {} are free", text(bytes(size)), text(host.memory));
    using Array = MappedArray<Number>;
    Result<Array> a = Array::map(size * size), b = Array::map(size * size), c = Array::map(size * size);
    PLIMSOLL_TRY(a);
    PLIMSOLL_TRY(b);
    PLIMSOLL_TRY(c);
    fill_whole_numbers(a->span(), 3);
    fill_whole_numbers(b->span(), 4);
    return Operands{std::move(*a), std::move(*b), std::move(*c), size};
  }
  [[nodiscard]] Matrices<Number> matrices() const { return {a.data(), b.data(), c.data(), size}; }
  [[nodiscard]] static Bytes bytes(std::int64_t size) {
    return Bytes(3 * static_cast<std::int64_t>(sizeof(Number))) * size * size;
  }
};

class Multiplying {
 public:
  Multiplying(const CpuHost& host, Crew& crew, const Blas* blas) : host_(host), crew_(crew), blas_(blas) {}

  /// Whether a product of that size ends in reasonable time, judged by the largest so far.
  [[nodiscard]] double foreseen(Method method, std::int64_t size) const {
    const Seen& seen = seen_[static_cast<std::size_t>(method)];
    return seen.size == 0 ? 0 : seen.seconds * cubed(size) / cubed(seen.size);
  }

  [[nodiscard]] Result<MatrixProduct> measure(Method method, const Operands<float>& operands) {
    MatrixProduct out;
    out.method = method;
    out.size = operands.size;
    Result<std::function<double()>> once = multiplier(method, operands, out);
    PLIMSOLL_TRY(once);
    // Written by nobody yet: what an earlier method left there would pass for this one's.
    std::ranges::fill(operands.c.span(), NAN);
    const double first = (*once)();
    out.largest_error = deviation(operands.matrices());
    out.right = out.largest_error == 0;
    // The first finds cold caches, pages and a library's threads not yet started; a slow one does not care.
    if (first >= kSlow * host_.patience)
      out.samples = {first};
    else
      out.samples = repeated({.least = 3, .most = 15, .seconds = kSeconds * host_.patience}, *once);
    seen_[static_cast<std::size_t>(method)] = {operands.size, std::ranges::min(out.samples)};
    return out;
  }

 private:
  struct Seen {
    std::int64_t size = 0;
    double seconds = 0;
  };

  /// Does it once and gives the seconds; `out` learns what it moves and who does it.
  [[nodiscard]] Result<std::function<double()>> multiplier(Method method, const Operands<float>& operands,
                                                           MatrixProduct& out) {
    const Matrices<float> m = operands.matrices();
    if (method == Method::naive) {
      out.moved_bytes = naive_bytes(m.size);
      return [this, m] {
        return crew_.run([&](int thread) { multiply_naively(m, slice_of(m.size, thread, crew_.size(), 1)); });
      };
    }
    if (method == Method::blocked) {
      Result<BlockedProduct<float>> blocked = BlockedProduct<float>::prepare(m.size, crew_.size());
      PLIMSOLL_TRY(blocked);
      out.moved_bytes = blocked->bytes();
      auto product = std::make_shared<BlockedProduct<float>>(std::move(*blocked));  // a function is copied
      return [this, m, product] { return crew_.run([&](int thread) { product->multiply(m, thread); }); };
    }
    // How a library divides the work is its own affair: every matrix once is the least that it moves.
    out.moved_bytes = static_cast<double>(Operands<float>::bytes(m.size).count());
    out.library = blas_->name();
    return [this, m] {
      const auto begin = Clock::now();
      blas_->multiply(m.a, m.b, m.c, static_cast<int>(m.size));
      return since(begin);
    };
  }

  const CpuHost& host_;
  Crew& crew_;
  const Blas* blas_;
  Seen seen_[3];
};

/// All methods on one size.
Status multiply_one_size(const CpuHost& host, Multiplying& multiplying, std::span<const Method> methods,
                         std::int64_t size, Findings& findings) {
  std::vector<Method> quick;
  for (const Method method : methods) {
    const double foreseen = multiplying.foreseen(method, size);
    if (foreseen <= kLongest * host.patience)
      quick.push_back(method);
    else
      findings.remarks.push_back(fmt::format("the CPU's {} product of size {} was left out: it would take {}",
                                             text_of(method), size, text(Seconds(foreseen))));
  }
  if (quick.empty()) return {};
  const Result<Operands<float>> operands = Operands<float>::make(size, host);
  PLIMSOLL_TRY(operands);
  for (const Method method : quick) {
    Result<MatrixProduct> product = multiplying.measure(method, *operands);
    PLIMSOLL_TRY(product);
    findings.products.push_back(std::move(*product));
  }
  return {};
}

/// Products of one precision, by the library or by our own blocks.
template <class Number>
class Rating {
 public:
  Rating(const CpuHost& host, Crew& crew, const Blas* blas) : host_(host), crew_(crew), blas_(blas) {}

  /// The faster of the two, at the largest size that memory and time allow.
  Status add_to(std::string_view name, Findings& findings) {
    constexpr std::int64_t kTrial = 1024;
    PLIMSOLL_TRY(prepare(kTrial));
    double trial = median(repeated({.least = 3, .most = 3}, [this] { return blocks_once(); }));
    if (blas_ != nullptr) {
      (void)library_once();
      const double library = median(repeated({.least = 3, .most = 3}, [this] { return library_once(); }));
      by_library_ = library < trial;
      trial = std::min(trial, library);
    }
    std::int64_t size = kTrial;
    for (const std::int64_t larger : kRateSizes)
      if (trial * cubed(larger) / cubed(kTrial) <= kRateSeconds * host_.patience &&
          Operands<Number>::bytes(larger) <= host_.memory) {
        size = larger;
        break;
      }
    PLIMSOLL_TRY(prepare(size));
    const auto once = [this] { return by_library_ ? library_once() : blocks_once(); };
    (void)once();
    if (deviation(operands_->matrices()) != 0) {
      findings.remarks.push_back(fmt::format("{} was left out: its result is wrong", name));
      return {};
    }
    const Repetition repetition{.least = 5, .most = 11, .seconds = 3 * host_.patience};
    findings.rates.push_back({.name = std::string(name),
                              .unit = "FLOP/s",
                              .amount = 2 * cubed(size),
                              .at = static_cast<double>(Operands<Number>::bytes(size).count()),
                              .samples = repeated(repetition, once)});
    if (blas_ != nullptr && !by_library_)
      findings.remarks.push_back(
          fmt::format("{} is that of our own blocked product: {} is slower here", name, blas_->name()));
    return {};
  }

 private:
  Status prepare(std::int64_t size) {
    operands_.reset();
    Result<Operands<Number>> operands = Operands<Number>::make(size, host_);
    PLIMSOLL_TRY(operands);
    Result<BlockedProduct<Number>> blocks = BlockedProduct<Number>::prepare(size, crew_.size());
    PLIMSOLL_TRY(blocks);
    operands_.emplace(std::move(*operands));
    blocks_.emplace(std::move(*blocks));
    return {};
  }
  double blocks_once() {
    const Matrices<Number> m = operands_->matrices();
    return crew_.run([&](int thread) { blocks_->multiply(m, thread); });
  }
  double library_once() {
    const Matrices<Number> m = operands_->matrices();
    const auto begin = Clock::now();
    blas_->multiply(m.a, m.b, m.c, static_cast<int>(m.size));
    return since(begin);
  }

  const CpuHost& host_;
  Crew& crew_;
  const Blas* blas_;
  bool by_library_ = false;
  std::optional<Operands<Number>> operands_;
  std::optional<BlockedProduct<Number>> blocks_;
};

std::string no_library(const Error& error) {
  return fmt::format("the CPU's products by a library were left out: {}. {}", error.text(), error.hint);
}

/// Opens it for as many threads as there are to use; remarks what is wrong with it.
Result<Blas> open_library(const CpuHost& host, Findings& findings) {
  Result<Blas> blas = Blas::open();
  if (!blas) {
    findings.remarks.push_back(no_library(blas.error()));
    return blas;
  }
  blas->use_threads(host.cores.threads);
#if defined(__x86_64__)
  // An old OpenBLAS takes a processor that is newer than itself for one of 2004.
  if (blas->name().find("Prescott") != std::string::npos && __builtin_cpu_supports("avx2"))
    findings.remarks.emplace_back(
        "OpenBLAS does not know this processor and takes its slowest kernels, in every program that uses it; "
        "OPENBLAS_CORETYPE=Haswell, or SkylakeX where there is AVX-512, chooses faster ones");
#endif
  return blas;
}

}  // namespace

Result<Findings> multiply_matrices(const CpuHost& host, std::span<const std::int64_t> sizes,
                                   const Progress& progress) {
  Findings findings;
  const Result<std::unique_ptr<Crew>> crew = Crew::gather(host.cores, host.cores.threads);
  PLIMSOLL_TRY(crew);
  const Result<Blas> blas = open_library(host, findings);
  std::vector<Method> methods = {Method::naive, Method::blocked};
  if (blas) methods.push_back(Method::library);
  Multiplying multiplying(host, **crew, blas ? &*blas : nullptr);
  Findings small;  // measured to foresee what others take
  PLIMSOLL_TRY(multiply_one_size(host, multiplying, methods, kSmallest, small));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    progress(fmt::format("multiplying matrices of size {}", sizes[i]),
             static_cast<double>(i) / static_cast<double>(sizes.size()));
    if (const Status done = multiply_one_size(host, multiplying, methods, sizes[i], findings); !done)
      findings.remarks.push_back(
          fmt::format("the CPU's product of size {} was left out: {}", sizes[i], done.error().text()));
  }
  return findings;
}

Result<Findings> product_rates(const CpuHost& host, const Progress& progress) {
  Findings findings;
  const Result<std::unique_ptr<Crew>> crew = Crew::gather(host.cores, host.cores.threads);
  PLIMSOLL_TRY(crew);
  const Result<Blas> blas = open_library(host, findings);
  const Blas* const library = blas ? &*blas : nullptr;
  progress("multiplying fp32", 0);
  PLIMSOLL_TRY(Rating<float>(host, **crew, library).add_to("product-fp32", findings));
  progress("multiplying fp64", 0.5);
  const bool doubles = library != nullptr && library->multiplies_doubles();
  PLIMSOLL_TRY(Rating<double>(host, **crew, doubles ? library : nullptr).add_to("product-fp64", findings));
  return findings;
}

}  // namespace plimsoll::probe
