#include "estimate/memory/recording.hpp"

#include <algorithm>

#include "estimate/saturating.hpp"

namespace plimsoll::estimate {
namespace {

constexpr std::uint32_t kNoBuffer = 0xffffffff;

/// Runs a Program as PyTorch's eager mode and autograd do, noting what is allocated and freed.
class Recorder {
 public:
  Recorder(const Program& program, const RecordingOptions& options)
      : p_(program),
        o_(options),
        buffer_of_(program.storages.size(), kNoBuffer),
        references_(program.storages.size(), 0),
        gradient_(program.values.size(), kNoBuffer),
        parameter_gradient_(program.values.size(), kNoBuffer) {
    // Storages by the call after which the program lets go of them.
    ends_.resize(program.calls.size() + 1);
    if (program.calls.empty()) return;
    std::vector<bool> resident(program.storages.size(), false);
    for (const StorageId id : program.resident) resident[index(id)] = true;
    for (std::size_t i = 0; i < program.storages.size(); ++i)
      if (!resident[i]) ++ends_[program.released[i] + 1];
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    ending_.resize(ends_.back());
    std::vector<std::uint32_t> place(ends_.begin(), ends_.end() - 1);
    for (std::size_t i = 0; i < program.storages.size(); ++i)
      if (!resident[i]) ending_[place[program.released[i]]++] = static_cast<std::uint32_t>(i);
  }

  Recording run() {
    load();
    for (iteration_ = 0; iteration_ < o_.iterations; ++iteration_) {
      if (o_.mode == network::Mode::infer) {
        forward();
        continue;
      }
      if (!o_.zero_grad_late) zero_gradients();
      const int passes = std::min(o_.accumulate, 3);  // later ones allocate as the third does
      for (int i = 0; i < passes; ++i) {
        forward();
        if (o_.zero_grad_late && i == 0) zero_gradients();
        backward();
      }
      step();
    }
    return std::move(recording_);
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static std::size_t index(StorageId id) { return static_cast<std::size_t>(id); }

  std::uint32_t allocate(std::int64_t bytes, Purpose purpose, network::TensorId tensor) {
    return add({bytes, bytes, purpose, tensor, call_}, Event::Kind::allocate);
  }
  std::uint32_t allocate_plan(const Step& step) {
    return add({step.bytes, step.most, Purpose::workspace, network::kNoTensor, call_},
               Event::Kind::try_allocate);
  }
  std::uint32_t add(const Buffer& buffer, Event::Kind kind) {
    const auto id = static_cast<std::uint32_t>(recording_.buffers.size());
    recording_.buffers.push_back(buffer);
    note(id, kind);
    shared_.push_back(1);
    return id;
  }
  void note(std::uint32_t buffer, Event::Kind kind) {
    recording_.events.push_back({buffer, call_, kind, phase_, static_cast<std::uint16_t>(iteration_)});
  }
  void release(std::uint32_t buffer) {
    if (--shared_[buffer] == 0) note(buffer, Event::Kind::free);
  }

  void load() {
    phase_ = Phase::load;
    for (const StorageId id : p_.resident) {
      const Storage& s = p_.storage(id);
      const std::int64_t bytes = s.purpose == Purpose::weight ? s.bytes / o_.shard_weights : s.bytes;
      buffer_of_[index(id)] = allocate(bytes, s.purpose, s.tensor);
    }
    if (o_.cache_bytes > 0) (void)allocate(o_.cache_bytes, Purpose::cache, network::kNoTensor);
    if (o_.gradient_buckets > 0) (void)allocate(o_.gradient_buckets, Purpose::gradient, network::kNoTensor);
  }

  void use_library(bool& have) {
    if (have || o_.library_bytes <= 0) return;
    have = true;
    (void)allocate(o_.library_bytes, Purpose::library, network::kNoTensor);
  }

  void drop_reference(StorageId id) {
    if (--references_[index(id)] > 0) return;
    release(buffer_of_[index(id)]);
    buffer_of_[index(id)] = kNoBuffer;
  }

  void make(StorageId id) {
    const Storage& s = p_.storage(id);
    // The caller still holds what the last pass gave it until the new result takes its name.
    if (buffer_of_[index(id)] != kNoBuffer) {
      if (phase_ != Phase::forward) {  // recomputed while the first result is still there
        ++references_[index(id)];
        return;
      }
      held_.push_back(buffer_of_[index(id)]);
    }
    buffer_of_[index(id)] = allocate(s.bytes, s.purpose, s.tensor);
    references_[index(id)] = 1;
  }

  void forward() {
    phase_ = Phase::forward;
    std::size_t segment = 0;
    for (call_ = 0; call_ < p_.calls.size(); ++call_) {
      const bool recomputed = is_recomputed(call_);
      if (segment < o_.checkpoints.size() && o_.checkpoints[segment] == call_) {
        if (recomputed) hold_inputs(segment);
        ++segment;
      }
      run_call(!recomputed);
    }
    for (const std::uint32_t buffer : held_) release(buffer);
    held_.clear();
    if (o_.mode == network::Mode::train) return;
    // Whoever infers is done with a result before asking for the next.
    for (std::size_t i = 0; i < p_.storages.size(); ++i)
      if (p_.storages[i].output && references_[i] > 0) drop_reference(static_cast<StorageId>(i));
  }

  void run_call(bool save) {
    const Call& call = p_.calls[call_];
    scratches_.clear();
    for (const Step& step : p_.slice(call.forward)) {
      switch (step.kind) {
        case StepKind::output: make(p_.value(step.value).storage); break;
        case StepKind::scratch:
          scratches_.push_back(allocate(step.bytes, Purpose::workspace, network::kNoTensor));
          break;
        case StepKind::plan: scratches_.push_back(allocate_plan(step)); break;
        case StepKind::drop: drop_scratch(); break;
        case StepKind::library:
          use_library(phase_ == Phase::forward ? forward_library_ : backward_library_);
          break;
        default: break;
      }
    }
    while (!scratches_.empty()) drop_scratch();
    if (save && o_.mode == network::Mode::train)
      for (const ValueId id : p_.ids(call.saved)) keep(p_.value(id).storage);
    for (std::uint32_t i = ends_[call_]; i < ends_[call_ + 1]; ++i) {
      const auto id = static_cast<StorageId>(ending_[i]);
      if (buffer_of_[index(id)] == kNoBuffer || references_[index(id)] == 0) continue;
      if (p_.storage(id).output) continue;  // the caller's
      drop_reference(id);
    }
  }

  // Checkpointing: a segment saves nothing but what comes into it, and runs again before its backward pass.
  // What follows the last cut is not recomputed: its backward pass comes at once.
  [[nodiscard]] std::size_t segment_of(std::uint32_t call) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(o_.checkpoints, call) - o_.checkpoints.begin());
  }
  [[nodiscard]] bool is_recomputed(std::uint32_t call) const {
    return !o_.checkpoints.empty() && segment_of(call) < o_.checkpoints.size();
  }

  void hold_inputs(std::size_t segment) {
    inputs_of_.resize(o_.checkpoints.size());
    inputs_of_[segment].clear();
    for (std::uint32_t i = 0; i < p_.storages.size(); ++i) {
      if (references_[i] == 0 || p_.released[i] < call_) continue;
      ++references_[i];
      inputs_of_[segment].push_back(static_cast<StorageId>(i));
    }
  }

  void recompute(std::uint32_t last) {
    const std::size_t segment = segment_of(last) - 1;
    const std::uint32_t resumed = call_;
    std::vector<StorageId> again;  // made anew, and handed on in the first pass already
    for (call_ = o_.checkpoints[segment]; call_ <= last; ++call_) {
      for (const Step& step : p_.slice(p_.calls[call_].forward))
        if (step.kind == StepKind::output && p_.released[index(p_.value(step.value).storage)] > last)
          again.push_back(p_.value(step.value).storage);
      run_call(true);
    }
    for (const StorageId id : again)
      if (references_[index(id)] > 0) drop_reference(id);
    for (const StorageId id : inputs_of_[segment])
      if (references_[index(id)] > 0) drop_reference(id);
    call_ = resumed;
  }

  void keep(StorageId id) {
    if (references_[index(id)] > 0) {
      ++references_[index(id)];
      recording_.buffers[buffer_of_[index(id)]].purpose = Purpose::saved;
    }
  }

  void drop_scratch() {
    if (scratches_.empty()) return;
    release(scratches_.back());
    scratches_.pop_back();
  }

  /// The gradient `buffer` reaches a value: kept as it is, or added to what is there.
  void deliver(ValueId id, std::uint32_t buffer) {
    const Value& value = p_.value(id);
    std::uint32_t& there = value.parameter ? parameter_gradient_[index(id)] : gradient_[index(id)];
    if (there == kNoBuffer) {
      there = buffer;
      return;
    }
    if (shared_[there] == 1) {  // nobody else reads it: added in place
      release(buffer);
      return;
    }
    const std::uint32_t sum = allocate(value.bytes(), Purpose::gradient, p_.storage(value.storage).tensor);
    release(there);
    release(buffer);
    there = sum;
  }

  void backward() {
    phase_ = Phase::backward;
    if (p_.calls.empty()) return;
    // The loss's own gradient.
    for (const ValueId id : p_.ids(p_.calls.back().results))
      if (p_.value(id).needs_gradient && gradient_[index(id)] == kNoBuffer)
        gradient_[index(id)] = allocate(p_.value(id).bytes(), Purpose::gradient, network::kNoTensor);
    for (call_ = static_cast<std::uint32_t>(p_.calls.size()); call_-- > 0;) {
      const bool last_of_segment = is_recomputed(call_) && segment_of(call_ + 1) != segment_of(call_);
      if (last_of_segment) recompute(call_);
      backward_of(p_.calls[call_]);
    }
    call_ = 0;
  }

  void backward_of(const Call& call) {
    std::uint32_t arrived = kNoBuffer;
    for (const ValueId id : p_.ids(call.results))
      if (gradient_[index(id)] != kNoBuffer) arrived = gradient_[index(id)];
    if (arrived != kNoBuffer) {
      scratches_.clear();
      delivered_.clear();
      for (const Step& step : p_.slice(call.backward)) {
        switch (step.kind) {
          case StepKind::gradient: {
            const Value& v = p_.value(step.value);
            std::int64_t bytes = step.bytes;
            if (v.parameter) bytes /= o_.shard_gradients;
            delivered_.push_back(
                {step.value, allocate(bytes, Purpose::gradient, p_.storage(v.storage).tensor)});
            break;
          }
          case StepKind::share:
            ++shared_[arrived];
            delivered_.push_back({step.value, arrived});
            break;
          case StepKind::scratch:
            scratches_.push_back(allocate(step.bytes, Purpose::workspace, network::kNoTensor));
            break;
          case StepKind::plan: scratches_.push_back(allocate_plan(step)); break;
          case StepKind::drop: drop_scratch(); break;
          case StepKind::library: use_library(backward_library_); break;
          case StepKind::output: break;
        }
      }
      while (!scratches_.empty()) drop_scratch();
    }
    // The node lets go of what came in and of what it had saved; its results go on.
    for (const ValueId id : p_.ids(call.results)) {
      if (gradient_[index(id)] == kNoBuffer) continue;
      release(gradient_[index(id)]);
      gradient_[index(id)] = kNoBuffer;
    }
    for (const ValueId id : p_.ids(call.saved))
      if (references_[index(p_.value(id).storage)] > 0) drop_reference(p_.value(id).storage);
    if (arrived != kNoBuffer) {
      for (const auto& [value, buffer] : delivered_) deliver(value, buffer);
      delivered_.clear();
    }
  }

  void zero_gradients() {
    if (o_.keep_gradients) return;
    phase_ = o_.zero_grad_late ? Phase::backward : Phase::forward;
    call_ = 0;
    for (const ValueId id : p_.parameters) {
      std::uint32_t& there = parameter_gradient_[index(id)];
      if (there == kNoBuffer) continue;
      release(there);
      there = kNoBuffer;
    }
  }

  void step() {
    phase_ = Phase::step;
    const int states = network::state_per_parameter(o_.optimizer);
    const bool adam = o_.optimizer == network::Optimizer::adam || o_.optimizer == network::Optimizer::adamw;
    const auto each = [&](auto&& action) {
      for (const ValueId id : p_.parameters)
        if (parameter_gradient_[index(id)] != kNoBuffer)
          action(p_.value(id), p_.storage(p_.value(id).storage).tensor);
    };
    if (!have_state_) {
      have_state_ = true;
      for (int i = 0; i < states; ++i)
        each([&](const Value& v, network::TensorId tensor) {
          (void)allocate(v.bytes() / o_.shard_state, Purpose::optimizer, tensor);
        });
    }
    if (adam && !o_.fused_optimizer) {
      // The roots of the second moments, one tensor for each parameter, all at once.
      scratches_.clear();
      each([&](const Value& v, network::TensorId tensor) {
        scratches_.push_back(allocate(v.bytes() / o_.shard_state, Purpose::temporary, tensor));
      });
      while (!scratches_.empty()) drop_scratch();
    }
  }

  const Program& p_;
  const RecordingOptions& o_;
  Recording recording_;
  std::vector<std::uint32_t> shared_;      // by buffer: owners
  std::vector<std::uint32_t> buffer_of_;   // by storage
  std::vector<std::uint32_t> references_;  // by storage: the program's own and those of saved tensors
  std::vector<std::uint32_t> gradient_, parameter_gradient_;  // by value
  std::vector<std::uint32_t> ends_, ending_;
  std::vector<std::uint32_t> scratches_, held_;
  std::vector<std::vector<StorageId>> inputs_of_;  // by checkpointed segment
  struct Delivery {
    ValueId value;
    std::uint32_t buffer;
  };
  std::vector<Delivery> delivered_;
  std::uint32_t call_ = 0;
  Phase phase_ = Phase::load;
  int iteration_ = 0;
  bool forward_library_ = false, backward_library_ = false, have_state_ = false;
};

}  // namespace

std::string_view name(Phase phase) {
  static constexpr std::string_view kNames[] = {"load", "forward", "backward", "step"};
  return kNames[static_cast<std::size_t>(phase)];
}

Recording record(const Program& program, const RecordingOptions& options) {
  return Recorder(program, options).run();
}

PeakBounds peak_bounds(const Recording& recording) {
  PeakBounds out;
  std::int64_t low = 0, high = 0;
  std::vector<bool> plan(recording.buffers.size(), false);
  for (const Event& event : recording.events) {
    const Buffer& buffer = recording.buffers[event.buffer];
    if (event.kind == Event::Kind::try_allocate) plan[event.buffer] = true;
    const std::int64_t sign = event.kind == Event::Kind::free ? -1 : 1;
    if (!plan[event.buffer]) low = sum(low, sign * buffer.bytes);
    high = sum(high, sign * buffer.most);
    out.low = std::max(out.low, low);
    out.high = std::max(out.high, high);
  }
  return out;
}

Replay replay(const Recording& recording, const AllocatorSettings& settings) {
  CachingAllocator allocator(settings);
  std::vector<CachingAllocator::Handle> handles(recording.buffers.size(), 0xffffffff);
  Replay result;
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    CachingAllocator::Handle& handle = handles[event.buffer];
    if (event.kind == Event::Kind::free) {
      if (handle != 0xffffffff) allocator.free(handle);
      continue;
    }
    if (recording.buffers[event.buffer].bytes == 0 && event.kind == Event::Kind::try_allocate) continue;
    const std::int64_t before = allocator.peak_allocated();
    const auto got = allocator.allocate(recording.buffers[event.buffer].bytes);
    if (!got) {
      if (event.kind == Event::Kind::try_allocate) continue;
      result.failed = i;
      break;
    }
    handle = *got;
    if (allocator.peak_allocated() > before) result.peak_event = i;
  }
  result.peak_allocated = allocator.peak_allocated();
  result.peak_reserved = allocator.peak_reserved();
  return result;
}

}  // namespace plimsoll::estimate
