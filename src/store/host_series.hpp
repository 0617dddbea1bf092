#pragma once
#include <string>
#include <string_view>

/// Several machines may write to one run. Series of its own machine have the plain names; those of another
/// one are named system/on/HOST/…, so that two that read the same GPU number never mix:
///     system/gpu/0/power    system/on/node8/gpu/0/power
/// Every character of a name is one that MLflow takes: what is neither letter nor digit, dot nor dash in a
/// host's name, and a dot at its beginning, stands as "_" and two hexadecimal digits.
namespace plimsoll::store {

struct HostSeries {
  std::string host = {};  ///< empty: the run's own
  std::string name;       ///< as it is on its own machine: "system/gpu/0/power"
  friend bool operator==(const HostSeries&, const HostSeries&) = default;
};

/// The name under which it is kept. Only what begins with "system/" is of a machine: other names stay.
[[nodiscard]] std::string host_series_name(std::string_view host, std::string_view name);
/// The reverse; a name that is not of that form is the run's own.
[[nodiscard]] HostSeries read_host_series(std::string_view metric);
/// Whether the metric is of another machine than the run's own.
[[nodiscard]] bool is_elsewhere(std::string_view metric);

/// Whether the command told it itself: neither sampled nor summed up.
[[nodiscard]] bool is_own_metric(std::string_view metric);
/// "energy" of "system/run/gpu/0/energy", also where that is of another machine; empty of all others.
[[nodiscard]] std::string run_gpu_figure(std::string_view metric);

}  // namespace plimsoll::store
