#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "store/store.hpp"

/// Runs that come from another store.
namespace plimsoll::store {

/// What was brought over so far.
struct Transferred {
  std::size_t experiments = 0;  ///< that were new
  std::size_t runs = 0;
  std::size_t present = 0;    ///< runs that were there already, just so
  std::size_t different = 0;  ///< runs that were there and differ: left as they are
  std::size_t models = 0;
  std::size_t registered = 0;          ///< registered models that were new
  std::size_t versions = 0;            ///< of registered models
  std::size_t versions_different = 0;  ///< that were there and differ: left as they are
  std::size_t files = 0;
  std::int64_t points = 0;
  std::int64_t bytes = 0;    ///< of files
  std::size_t left_out = 0;  ///< runs or series that could not be read
  friend bool operator==(const Transferred&, const Transferred&) = default;
};

/// Told after each run.
using Progress = std::function<void(const Transferred&)>;

/// Takes some of a run's points.
using PointSink = std::function<Status(const Batch&)>;

/// A run from elsewhere.
struct Arrival {
  Run run;  ///< its metrics need not be known
  /// Gives all points, some at a time; their run is set by who receives them.
  std::function<Status(const PointSink&)> points;
  std::filesystem::path artifacts = {};  ///< a directory to copy from; empty: none
};

/// Makes the experiment where there is none of its name, with the same number where that is free. Returns its
/// number here. A deleted one comes active, so that it takes runs.
[[nodiscard]] Result<std::int64_t> receive_experiment(Store& to, const Experiment& experiment,
                                                      Transferred& counts);

/// Brings a run in: all of it, or what was missing of it when that was cut short before. The tag
/// `plimsoll.arriving` stands at a run that is not whole yet.
[[nodiscard]] Status receive_run(Store& to, std::int64_t experiment, const Arrival& arrival,
                                 Transferred& counts);

/// Brings a logged model in, when the runs that its metrics belong to are there. `artifacts`: a directory to
/// copy from; empty: none. Its files are where this store keeps them, unless they are on a server of somebody
/// else's.
[[nodiscard]] Status receive_model(Store& to, std::int64_t experiment, const LoggedModel& model,
                                   const std::filesystem::path& artifacts, Transferred& counts);

/// Brings a registered model in, when the runs and logged models that it names are there: with those of its
/// versions that are not there yet. Their files are found where those of the runs are now. Another model of
/// the same name is left as it is.
[[nodiscard]] Status receive_registered(Store& to, const RegisteredModel& model,
                                        std::span<const ModelVersion> versions, Transferred& counts);

/// Copies regular files below a directory that are not there yet or differ in size; symbolic links are left
/// out.
[[nodiscard]] Status copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                                Transferred& counts);

/// All experiments, runs with their points, inputs and files, logged models and registered models of one
/// store to another. May be repeated: what is there already is skipped.
[[nodiscard]] Result<Transferred> copy(Store& from, Store& to, const Progress& progress = {});

}  // namespace plimsoll::store
