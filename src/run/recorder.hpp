#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/outbox.hpp"
#include "run/summary.hpp"
#include "store/store.hpp"
#include "telemetry/sampling_thread.hpp"

namespace plimsoll::running {

struct RecorderOptions {
  std::chrono::milliseconds metrics_interval =
      std::chrono::milliseconds(100);  ///< the longest wait for an answer
  /// Samples are acknowledged to nobody: so much of them kill -9 can cost.
  std::chrono::milliseconds frames_interval = std::chrono::seconds(5);
  /// How long a store that refuses (disk full, locked) is asked again before the end of a run is given up.
  std::chrono::milliseconds patience = std::chrono::seconds(30);
  std::size_t most_pending = 1'000'000;  ///< points kept in memory meanwhile
  Outbox::Options refused = {};          ///< metrics that the store does not take while it takes others
};

/// Brings samples and metrics into the store, from a thread of its own, so that a slow disk holds up neither
/// the sampling nor the commands.
class Recorder {
 public:
  /// `sampling` may be null; it outlives the recorder.
  Recorder(std::unique_ptr<store::Store> store, telemetry::SamplingThread* sampling,
           RecorderOptions options = {});
  ~Recorder();  ///< brings in what is there, and stops
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// From now on samples of the machine, of the run, and of `gpus` go to the stored run `id`. `home`: the
  /// host that the run is of (its tag plimsoll.host), where that may be another: then this one's samples have
  /// names of their own (store/host_series.hpp).
  void begin(int run, std::string id, std::vector<unsigned> gpus, std::optional<SoloProfile> alone = {},
             std::string home = {});
  /// Takes a metric of the command; it is in the store once committed() of the run has reached the number
  /// given back.
  [[nodiscard]] std::uint64_t metric(int run, std::string name, store::Point point,
                                     store::Description description);
  /// All metrics of the run up to this number are in the store. It stands still where one is not.
  [[nodiscard]] std::uint64_t committed(int run) const;
  /// Why the run has metrics that never came into the store; nothing where it has none.
  [[nodiscard]] std::optional<std::string> lost(int run) const;
  /// So much is waiting for the disk that more should not be taken.
  [[nodiscard]] bool congested() const;
  /// Ends the run's record: first `end` (status, time, outcome), at once and by itself; then, after `delay`,
  /// in which its last samples come, its last points, its summary and `rest`, as far as the store takes them.
  void finish(int run, store::Change end, store::Change rest, std::chrono::milliseconds delay);

  struct Finished {
    int run = 0;
    Status kept;                     ///< the store took the end
    std::uint64_t metrics_lost = 0;  ///< of the command, taken but never stored
  };
  [[nodiscard]] std::vector<Finished> take_finished();
  /// Readable when there is something to acknowledge, to tell, or a run is finished; read it empty with
  /// drain().
  [[nodiscard]] int descriptor() const;
  void drain() const;
  /// What the store refuses, and what became of it, since the last call: sentences for the person, each said
  /// once. The records of the runs have them too, as far as the store takes them.
  [[nodiscard]] std::vector<std::string> take_troubles();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::running
