#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "job/operator_case.hpp"

/// The lines plimsoll-engine writes on standard output: one JSON object each, told apart by "type". Sizes
/// are bytes, times seconds. What is not known is absent.
namespace plimsoll::job {

struct Hello {              ///< "hello", first
  std::string torch = {};   ///< "1.13.1"
  std::string device = {};  ///< "cpu", "cuda:0"
  std::string device_name = {};
  std::optional<std::string> cuda = {}, cudnn = {};
  std::optional<std::string> gpu_uuid = {};
  std::int64_t threads = 0;
  std::int64_t process = 0;
  bool operator==(const Hello&) const = default;
};

struct Unsupported {  ///< "unsupported": operators that cannot be executed; nothing was run
  struct Item {
    std::string op;
    std::int64_t nodes = 0;
    std::string reason;
    bool operator==(const Item&) const = default;
  };
  std::vector<Item> operators;
  bool operator==(const Unsupported&) const = default;
};

struct Prepared {  ///< "prepared": what will be executed
  std::int64_t operators = 0;
  std::map<std::string, std::int64_t>
      recognised;           ///< kernels that stand for several operators: "attention": 12
  std::int64_t folded = 0;  ///< BatchNorms folded, when asked for
  std::int64_t in_place = 0;
  std::string quantized_by = {};  ///< the library of eight-bit kernels, where there are such: "oneDNN"
  bool operator==(const Prepared&) const = default;
};

struct Context {  ///< "context": what the device's runtime takes before anything is loaded
  std::optional<std::int64_t> device_bytes;
  std::int64_t resident_bytes = 0;
  bool operator==(const Context&) const = default;
};

struct Loaded {  ///< "loaded": weights are where they run
  double seconds = 0;
  std::int64_t bytes = 0;  ///< allocated for weights
  std::int64_t parameters = 0;
  std::optional<std::int64_t> reserved_bytes;
  std::int64_t resident_bytes = 0;
  bool random = false;
  bool operator==(const Loaded&) const = default;
};

struct Progress {     ///< "progress"
  std::string phase;  ///< "cold", "warm-up", "timing", "layers", "energy", "scenario", "training"
  double done = 0;    ///< 0 to 1
  std::optional<double> seconds_left;
  bool operator==(const Progress&) const = default;
};

struct Window {  ///< "window": steady passes begin or end now; the energy between is theirs
  bool begin = true;
  std::int64_t passes = 0;  ///< at the end
  double seconds = 0;       ///< at the end
  bool operator==(const Window&) const = default;
};

struct Sample {  ///< "sample": of paced timing (Protocol::paced), as it comes
  double seconds = 0;
  bool operator==(const Sample&) const = default;
};

struct Point {  ///< "point": the time of one operator, of a calibration
  OperatorCase what;
  std::optional<double> seconds;                ///< median, of the device's own time per call
  std::optional<double> spread;                 ///< half of the median's 95 % interval, as a share of it
  std::optional<std::int64_t> workspace_bytes;  ///< beside inputs and results
  std::optional<std::string> failure;           ///< why there is no time
  bool operator==(const Point&) const = default;
};

struct Launch {  ///< "launch": what the host needs to start one operator, on a device that works by itself
  double seconds = 0;
  bool operator==(const Launch&) const = default;
};

struct ChainTime {  ///< "chain": operators in a row, and what each takes when it is repeated
  std::string name;
  std::int64_t calls = 0;
  double alone_seconds = 0;  ///< of all of them, each by itself
  double together_seconds = 0;
  bool operator==(const ChainTime&) const = default;
};

struct Memory {
  std::int64_t peak_allocated_bytes = 0;
  std::optional<std::int64_t> peak_reserved_bytes, peak_requested_bytes;
  std::optional<std::int64_t> device_used_bytes;  ///< all of this process on the device, context included
  std::int64_t peak_resident_bytes = 0;
  bool operator==(const Memory&) const = default;
};

struct LayerTime {
  std::string name;  ///< of the operator
  std::string op;
  double seconds = 0;  ///< median
  bool operator==(const LayerTime&) const = default;
};

struct Layers {  ///< "layers": time by layer without a barrier after each
  std::vector<LayerTime> layers;
  double pass_seconds = 0;          ///< the whole pass, not instrumented
  double instrumented_seconds = 0;  ///< the whole pass while layers were timed
  double marker_seconds = 0;        ///< one marker's own cost
  std::int64_t passes = 0;
  bool operator==(const Layers&) const = default;
};

struct Measured {                      ///< "measured": the figures of one setting
  double cold_seconds = 0;             ///< the first pass
  std::vector<double> warm_up;         ///< seconds, passes before steadiness
  std::vector<double> samples;         ///< seconds of one pass each, hot
  std::int64_t passes_per_sample = 1;  ///< a sample is the mean of so many passes, run back to back
  std::string stopped;                 ///< "narrow", "time", "samples"
  std::string clock;                   ///< "host", "events"
  bool captured = false;
  Memory memory;
  std::optional<double> loss;  ///< training: of the last step
  bool operator==(const Measured&) const = default;
};

struct Latencies {              ///< "latencies": of a scenario
  std::vector<double> seconds;  ///< per query, from its scheduled time
  double elapsed = 0;           ///< from the first scheduled time to the last answer
  std::int64_t samples = 0;
  std::int64_t passes = 0;
  bool operator==(const Latencies&) const = default;
};

struct Learned {  ///< "learned": steps of a training, as they come
  std::int64_t epoch = 0, first_step = 0;
  std::vector<double> losses;  ///< by step
  double learning_rate = 0;    ///< of the last one
  std::int64_t examples = 0;
  double seconds = 0;
  bool operator==(const Learned&) const = default;
};

struct Epoch {  ///< "epoch": of training
  std::int64_t epoch = 0;
  std::vector<double> losses;  ///< by step; those since the last start
  double seconds = 0;
  std::optional<double> accuracy;   ///< on the test set
  std::optional<double> loss;       ///< mean over all steps of the epoch
  std::optional<double> test_loss;  ///< on the test set
  std::optional<double> test_seconds;
  bool operator==(const Epoch&) const = default;
};

struct Tested {  ///< "tested": the trained network, on another data set
  std::int64_t examples = 0;
  std::optional<double> accuracy, loss;
  double seconds = 0;
  bool operator==(const Tested&) const = default;
};

struct Saved {  ///< "saved": a training can go on from here
  std::int64_t step = 0, epoch = 0;
  std::string file;
  bool operator==(const Saved&) const = default;
};

struct WentOn {  ///< "went-on": from a save; the epochs before it follow as they were told
  std::int64_t step = 0, epoch = 0;
  bool operator==(const WentOn&) const = default;
};

/// "joined": networks that learn together, after an epoch; epoch 0 is before the first.
struct Joined {
  std::int64_t epoch = 0;
  std::vector<double> accuracies;  ///< by member, on its test set
  std::vector<double> losses;      ///< by member, the mean over the epoch's steps; empty at epoch 0
  double seconds = 0;              ///< of learning and testing
  bool held = false;               ///< every member keeps its floor
  bool operator==(const Joined&) const = default;
};

/// "laid-out": models that are to take turns, as the engine packs them, and what it measured of each with all
/// its weights there.
struct LaidOut {
  struct Layer {
    double seconds = 0;
    std::vector<std::int64_t> tensors;
    bool operator==(const Layer&) const = default;
  };
  struct Member {
    std::vector<Layer> layers;
    std::int64_t activation_bytes = 0;  ///< the most that a run takes beside its weights
    bool operator==(const Member&) const = default;
  };
  std::vector<std::int64_t> tensor_bytes;  ///< what is shared stands once
  std::vector<Member> members;
  double copy_bandwidth = 0;  ///< bytes a second, of many blocks at once
  double copy_latency = 0;    ///< seconds of a load, before its bytes flow
  bool operator==(const LaidOut&) const = default;
};

struct Swapped {  ///< "swapped": frames that models took turns to answer
  struct Frame {
    std::int64_t frame = 0;  ///< of the job's
    double begin = 0, finish = 0;
    bool operator==(const Frame&) const = default;
  };
  std::vector<Frame> frames;       ///< those that ran, in order
  std::int64_t moved_bytes = 0;    ///< copied into the memory of blocks
  std::int64_t peak_bytes = 0;     ///< of it, by its allocator
  std::int64_t decided_bytes = 0;  ///< the same as the policy accounts for them
  std::int64_t decided_peak_bytes = 0;
  std::int64_t copies = 0;
  double copying_seconds = 0;  ///< while a copy was under way
  double elapsed = 0;
  std::int64_t outputs_differing = 0;  ///< runs that did not give, bit for bit, what the model gives alone
  std::int64_t activation_bytes = 0;   ///< the allocator's peak beside the weights
  bool operator==(const Swapped&) const = default;
};

struct DoesNotFit {   ///< "does-not-fit"
  std::string phase;  ///< "context", "loading", "running"
  std::optional<std::int64_t> asked_bytes, free_bytes, total_bytes, allocated_bytes, reserved_bytes;
  std::string message;  ///< the framework's own, first line
  bool operator==(const DoesNotFit&) const = default;
};

struct Failure {  ///< "error"
  std::string message, where, hint;
  std::string kind;  ///< "bad-input", "machine-lacks", "internal"
  bool operator==(const Failure&) const = default;
};

struct Done {  ///< "done", last of a job that went well
  bool operator==(const Done&) const = default;
};

using Answer = std::variant<Hello, Unsupported, Prepared, Context, Loaded, Progress, Window, Layers, Measured,
                            Latencies, Epoch, DoesNotFit, Failure, Done, Sample, Point, Launch, ChainTime,
                            Learned, Saved, WentOn, Tested, Joined, LaidOut, Swapped>;

/// One line without its newline, and back. Unknown fields are passed over, unknown types are an error.
[[nodiscard]] std::string write(const Answer& answer);
[[nodiscard]] Result<Answer> read_answer(std::string_view line);

}  // namespace plimsoll::job
