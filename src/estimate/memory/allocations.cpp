#include "estimate/memory/allocations.hpp"

#include <algorithm>

#include "estimate/memory/sharding.hpp"
#include "network/saturating.hpp"
#include "program/checkpoints.hpp"

namespace plimsoll::estimate {
namespace {

using network::divided;
using network::ZeroGrad;
using program::Action;
using program::ActionKind;
using program::Call;
using program::Storage;
using program::StorageId;
using program::Value;
using program::ValueId;

constexpr std::uint32_t kNoBuffer = 0xffffffff;

/// Runs a Program as PyTorch's eager mode and autograd do, noting what is allocated and freed.
class Iterations {
 public:
  Iterations(const Program& program, const network::Setting& setting, std::int64_t library_bytes)
      : p_(program),
        setting_(setting),
        sharded_(shard(program, setting)),
        shares_(sharded_.shares),
        library_bytes_(library_bytes),
        buffer_of_(program.storages.size(), kNoBuffer),
        references_(program.storages.size(), 0),
        gradient_(program.values.size(), kNoBuffer),
        parameter_gradient_(program.values.size(), kNoBuffer),
        gathered_(sharded_.gathered.size(), kNoBuffer) {
    if (is_training() && setting.checkpoint) checkpoints_ = program::checkpoints(program);
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

  Allocations run() {
    load();
    for (iteration_ = 0; iteration_ < (is_training() ? 3 : 2); ++iteration_) {
      if (!is_training()) {
        forward();
        continue;
      }
      const bool late = setting_.zero_grad == ZeroGrad::before_backward;
      if (!late) zero_gradients();
      const int passes = std::min(setting_.accumulate, 3);  // later ones allocate as the third does
      for (int i = 0; i < passes; ++i) {
        forward();
        if (late && i == 0) zero_gradients();
        backward();
      }
      step();
    }
    return std::move(allocations_);
  }

 private:
  [[nodiscard]] bool is_training() const { return setting_.mode == network::Mode::train; }
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static std::size_t index(StorageId id) { return static_cast<std::size_t>(id); }

  std::uint32_t allocate(std::int64_t bytes, Purpose purpose, network::TensorId tensor) {
    return add({bytes, bytes, purpose, tensor, call_}, Event::Kind::allocate);
  }
  std::uint32_t allocate_workspace(const Action& action) {
    return add({action.bytes, action.most, Purpose::workspace, network::kNoTensor, call_},
               Event::Kind::try_allocate);
  }
  std::uint32_t add(const Buffer& buffer, Event::Kind kind) {
    const auto id = static_cast<std::uint32_t>(allocations_.buffers.size());
    allocations_.buffers.push_back(buffer);
    note(id, kind);
    shared_.push_back(1);
    return id;
  }
  void note(std::uint32_t buffer, Event::Kind kind) {
    allocations_.events.push_back({buffer, call_, kind, phase_, static_cast<std::uint16_t>(iteration_)});
  }
  void release(std::uint32_t buffer) {
    if (--shared_[buffer] == 0) note(buffer, Event::Kind::free);
  }

  void load() {
    phase_ = Phase::load;
    for (const StorageId id : p_.resident) {
      const Storage& s = p_.storage(id);
      const std::int64_t parts = sharded_.parameter[index(id)] ? shares_.weights : 1;
      buffer_of_[index(id)] = allocate(divided(s.bytes, parts), s.purpose, s.tensor);
    }
    std::int64_t cache = 0;
    for (const program::TokenCache& of : p_.caches) cache = network::sum(cache, of.context_bytes);
    if (cache > 0 && !is_training()) (void)allocate(cache, Purpose::cache, network::kNoTensor);
    if (sharded_.buckets > 0) (void)allocate(sharded_.buckets, Purpose::bucket, network::kNoTensor);
  }

  void use_library(bool& have) {
    if (have || library_bytes_ <= 0) return;
    have = true;
    (void)allocate(library_bytes_, Purpose::library, network::kNoTensor);
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
    // A copy of divided weights is what is gathered, and is there as long as that.
    const bool copied = sharded_.copied_from[index(id)] >= 0;
    buffer_of_[index(id)] = allocate(copied ? 0 : s.bytes, copied ? Purpose::gathered : s.purpose, s.tensor);
    references_[index(id)] = 1;
  }

  void forward() {
    phase_ = Phase::forward;
    std::size_t segment = 0;
    for (call_ = 0; call_ < p_.calls.size(); ++call_) {
      const bool recomputed = is_recomputed(call_);
      if (segment < checkpoints_.size() && checkpoints_[segment] == call_) {
        if (recomputed) hold_inputs(segment);
        ++segment;
      }
      gather(call_, 1);
      run_call(!recomputed);
      leave(call_, 1);
    }
    scatter_all();
    for (const std::uint32_t buffer : held_) release(buffer);
    held_.clear();
    if (is_training()) return;
    // Whoever infers is done with a result before asking for the next.
    for (std::size_t i = 0; i < p_.storages.size(); ++i)
      if (p_.storages[i].output && references_[i] > 0) drop_reference(static_cast<StorageId>(i));
  }

  void run_call(bool save) {
    const Call& call = p_.calls[call_];
    scratches_.clear();
    for (const Action& action : p_.slice(call.forward)) {
      switch (action.kind) {
        case ActionKind::output: make(p_.value(action.value).storage); break;
        case ActionKind::scratch:
          scratches_.push_back(allocate(action.bytes, Purpose::workspace, network::kNoTensor));
          break;
        case ActionKind::workspace: scratches_.push_back(allocate_workspace(action)); break;
        case ActionKind::drop: drop_scratch(); break;
        case ActionKind::library:
          use_library(phase_ == Phase::forward ? forward_library_ : backward_library_);
          break;
        default: break;
      }
    }
    while (!scratches_.empty()) drop_scratch();
    if (save && is_training())
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
    return static_cast<std::size_t>(std::ranges::upper_bound(checkpoints_, call) - checkpoints_.begin());
  }
  [[nodiscard]] bool is_recomputed(std::uint32_t call) const {
    return !checkpoints_.empty() && segment_of(call) < checkpoints_.size();
  }

  void hold_inputs(std::size_t segment) {
    inputs_of_.resize(checkpoints_.size());
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
    for (call_ = checkpoints_[segment]; call_ <= last; ++call_) {
      for (const Action& action : p_.slice(p_.calls[call_].forward))
        if (action.kind == ActionKind::output && p_.released[index(p_.value(action.value).storage)] > last)
          again.push_back(p_.value(action.value).storage);
      gather(call_, 1);
      run_call(true);
      leave(call_, 1);
    }
    scatter_all();
    for (const StorageId id : again)
      if (references_[index(id)] > 0) drop_reference(id);
    for (const StorageId id : inputs_of_[segment])
      if (references_[index(id)] > 0) drop_reference(id);
    call_ = resumed;
  }

  void keep(StorageId id) {
    if (references_[index(id)] > 0) {
      ++references_[index(id)];
      if (sharded_.copied_from[index(id)] < 0)
        allocations_.buffers[buffer_of_[index(id)]].purpose = Purpose::saved;
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
    if (value.parameter && shares_.gradients > 1) return pending_.push_back({id, buffer});
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
      gather(call_, -1);
      backward_of(p_.calls[call_]);
      leave(call_, -1);
    }
    call_ = 0;
    scatter_all();
    reduce();
    drop_bucket();
  }

  // Divided weights: a layer's are gathered before its first call, and those of the layer that comes next
  // with them, as FullyShardedDataParallel does; `way` is 1 forward and -1 backward.
  void gather(std::uint32_t call, int way) {
    if (gathered_.empty() || sharded_.layer_of[call] == kNoLayer) return;
    const std::uint32_t layer = sharded_.layer_of[call];
    const std::uint32_t next = layer + static_cast<std::uint32_t>(way);  // before the first: none
    for (const std::uint32_t l : {layer, next}) {
      if (l >= gathered_.size() || gathered_[l] != kNoBuffer) continue;
      gathered_[l] = allocate(sharded_.gathered[l], Purpose::gathered, network::kNoTensor);
    }
  }
  void leave(std::uint32_t call, int way) {
    if (sharded_.layer_of.empty()) return;
    const std::uint32_t layer = sharded_.layer_of[call];
    if (layer == kNoLayer) {
      if (way < 0) reduce();
      return;
    }
    if (call != (way > 0 ? p_.layers[layer].last : p_.layers[layer].first)) return;
    if (way < 0) reduce();
    if (!gathered_.empty()) scatter(layer);
  }
  void scatter(std::uint32_t layer) {
    if (gathered_[layer] == kNoBuffer) return;
    release(gathered_[layer]);
    gathered_[layer] = kNoBuffer;
  }
  void scatter_all() {
    for (std::uint32_t i = 0; i < gathered_.size(); ++i) scatter(i);
  }

  /// Divided gradients: whole ones of a layer go into a bucket, of whose sum over all devices a part stays. A
  /// bucket is there until the next one is full.
  void reduce() {
    if (pending_.empty()) return;
    std::int64_t bytes = 0;
    for (const Delivery& whole : pending_)
      bytes = network::sum(bytes, allocations_.buffers[whole.buffer].bytes);
    const std::uint32_t full = allocate(bytes, Purpose::bucket, network::kNoTensor);
    drop_bucket();
    bucket_ = full;
    for (const Delivery& whole : pending_) {
      release(whole.buffer);
      const Value& value = p_.value(whole.value);
      std::uint32_t& there = parameter_gradient_[index(whole.value)];
      if (there == kNoBuffer)
        there = allocate(divided(value.bytes(), shares_.gradients), Purpose::gradient,
                         p_.storage(value.storage).tensor);
    }
    pending_.clear();
  }
  void drop_bucket() {
    if (bucket_ != kNoBuffer) release(bucket_);
    bucket_ = kNoBuffer;
  }

  void backward_of(const Call& call) {
    std::uint32_t arrived = kNoBuffer;
    for (const ValueId id : p_.ids(call.results))
      if (gradient_[index(id)] != kNoBuffer) arrived = gradient_[index(id)];
    if (arrived != kNoBuffer) {
      scratches_.clear();
      delivered_.clear();
      for (const Action& action : p_.slice(call.backward)) {
        switch (action.kind) {
          case ActionKind::gradient: {
            const Value& v = p_.value(action.value);
            // Of a copy in half precision that was gathered, the gradient is sent as it is.
            const std::int64_t copied =
                call.results.count > 0
                    ? sharded_.copied_from[index(p_.value(p_.ids(call.results).front()).storage)]
                    : -1;
            const bool reduced = v.parameter && shares_.gradients > 1;
            delivered_.push_back({action.value, allocate(copied >= 0 ? copied : action.bytes,
                                                         reduced ? Purpose::bucket : Purpose::gradient,
                                                         p_.storage(v.storage).tensor)});
            break;
          }
          case ActionKind::share:
            ++shared_[arrived];
            delivered_.push_back({action.value, arrived});
            break;
          case ActionKind::scratch:
            scratches_.push_back(allocate(action.bytes, Purpose::workspace, network::kNoTensor));
            break;
          case ActionKind::workspace: scratches_.push_back(allocate_workspace(action)); break;
          case ActionKind::drop: drop_scratch(); break;
          case ActionKind::library: use_library(backward_library_); break;
          case ActionKind::output: break;
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
    if (setting_.zero_grad == ZeroGrad::keep) return;
    phase_ = setting_.zero_grad == ZeroGrad::before_backward ? Phase::backward : Phase::forward;
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
    const int states = network::state_per_parameter(setting_.optimizer);
    const bool adam =
        setting_.optimizer == network::Optimizer::adam || setting_.optimizer == network::Optimizer::adamw;
    const auto each = [&](auto&& action) {
      for (const ValueId id : p_.parameters)
        if (parameter_gradient_[index(id)] != kNoBuffer)
          action(p_.value(id), p_.storage(p_.value(id).storage).tensor);
    };
    if (!have_state_) {
      have_state_ = true;
      for (int i = 0; i < states; ++i)
        each([&](const Value& v, network::TensorId tensor) {
          (void)allocate(divided(v.bytes(), shares_.state), Purpose::optimizer, tensor);
        });
    }
    if (adam && !setting_.fused_optimizer) {
      // The roots of the second moments, one tensor for each parameter, all at once.
      scratches_.clear();
      each([&](const Value& v, network::TensorId tensor) {
        scratches_.push_back(allocate(divided(v.bytes(), shares_.state), Purpose::temporary, tensor));
      });
      while (!scratches_.empty()) drop_scratch();
    }
  }

  const Program& p_;
  const network::Setting& setting_;
  ShardedProgram sharded_;
  network::Shares shares_;
  std::int64_t library_bytes_;
  std::vector<std::uint32_t> checkpoints_;  // calls that begin a recomputed segment, ascending
  Allocations allocations_;
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
  std::vector<Delivery> pending_;        // whole gradients that are not reduced yet
  std::vector<std::uint32_t> gathered_;  // by layer: its weights, while they are here
  std::uint32_t bucket_ = kNoBuffer;
  std::uint32_t call_ = 0;
  Phase phase_ = Phase::load;
  int iteration_ = 0;
  bool forward_library_ = false, backward_library_ = false, have_state_ = false;
};

}  // namespace

Allocations allocations_of(const Program& program, const network::Setting& setting,
                           std::int64_t library_bytes) {
  return Iterations(program, setting, library_bytes).run();
}

PeakBounds peak_bounds(const Allocations& allocations) {
  PeakBounds out;
  std::int64_t low = 0, high = 0;
  std::vector<bool> plan(allocations.buffers.size(), false);
  for (const Event& event : allocations.events) {
    const Buffer& buffer = allocations.buffers[event.buffer];
    if (event.kind == Event::Kind::try_allocate) plan[event.buffer] = true;
    const std::int64_t sign = event.kind == Event::Kind::free ? -1 : 1;
    if (!plan[event.buffer]) low = network::sum(low, sign * buffer.bytes);
    high = network::sum(high, sign * buffer.most);
    out.low = std::max(out.low, low);
    out.high = std::max(out.high, high);
  }
  return out;
}

Replay replay(const Allocations& allocations, const AllocatorSettings& settings) {
  CachingAllocator allocator(settings);
  std::vector<CachingAllocator::Handle> handles(allocations.buffers.size(), 0xffffffff);
  Replay result;
  for (std::size_t i = 0; i < allocations.events.size(); ++i) {
    const Event& event = allocations.events[i];
    CachingAllocator::Handle& handle = handles[event.buffer];
    if (event.kind == Event::Kind::free) {
      if (handle != 0xffffffff) allocator.free(handle);
      continue;
    }
    if (allocations.buffers[event.buffer].bytes == 0 && event.kind == Event::Kind::try_allocate) continue;
    const std::int64_t before = allocator.peak_allocated();
    const auto got = allocator.allocate(allocations.buffers[event.buffer].bytes);
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
