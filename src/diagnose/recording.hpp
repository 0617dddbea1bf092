#pragma once
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/series.hpp"
#include "store/run.hpp"

namespace plimsoll::diagnose {

/// A run with its histories on its own clock: what reports are made of.
struct Recording {
  store::Run run;
  double seconds = 0;  ///< from its start to its end, or to the last that is known of it
  bool ended = false;
  std::map<std::string, Series> series = {};  ///< by the metric's name
  std::vector<Span> gaps = {};                ///< in which nothing was sampled, as the sampling said
  std::size_t metrics_left_out = 0;           ///< beyond the limit on how many are read
  std::string log_tail = {};                  ///< the last lines that the command printed; may be empty

  [[nodiscard]] const Series* find(const std::string& metric) const;
  [[nodiscard]] std::optional<std::string> tag(const std::string& name) const;
  [[nodiscard]] std::optional<double> number_tag(const std::string& name) const;  ///< finite
  [[nodiscard]] Span whole() const { return {0, seconds}; }
};

/// A GPU that a run was on.
struct Gpu {
  std::string host = {};  ///< empty: the run's own
  unsigned number = 0;
  friend auto operator<=>(const Gpu&, const Gpu&) = default;
};
/// "GPU 0", "GPU 0 of node8". Printable.
[[nodiscard]] std::string gpu_text(const Gpu& gpu);

/// The GPUs of the run by host and number, ascending, those of its own host first: of these those that its
/// plimsoll.devices tag names, else, and of other hosts, those of which there are samples.
[[nodiscard]] std::vector<Gpu> gpus_of(const Recording& recording);
/// All series, those of other hosts after the run's own; each in the order of names.
[[nodiscard]] std::vector<std::pair<const std::string*, const Series*>> own_host_first(
    const Recording& recording);
/// "system/gpu/0/power"
[[nodiscard]] std::string gpu_series(const Gpu& gpu, std::string_view what);
[[nodiscard]] std::string run_gpu_series(const Gpu& gpu, std::string_view what);

/// How it ended, or that it runs: the outcome where Plimsoll ran it, else MLflow's status. Printable.
[[nodiscard]] std::string outcome_of(const Recording& recording);
[[nodiscard]] bool succeeded(const Recording& recording);

/// The list of [from, to] in microseconds that the plimsoll.gaps tag holds, on the run's clock. What cannot
/// be read is no gap.
[[nodiscard]] std::vector<Span> parse_gaps(std::string_view json, store::Time start);

/// Puts the histories on the run's clock: `points` of a metric by name, in the order of time.
void add_history(Recording& recording, const std::string& metric, std::span<const store::Point> points,
                 std::size_t most_samples);
/// Sets what follows from the run itself and the series that were added.
void set_extent(Recording& recording);

}  // namespace plimsoll::diagnose
