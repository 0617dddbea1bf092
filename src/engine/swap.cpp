// The task "swap": networks that take turns in a memory.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "engine/arrays.hpp"
#include "engine/swapping/turns.hpp"
#include "swapping/decide.hpp"

namespace plimsoll::engine {
namespace {

using network::TensorId;
using Models = std::vector<std::unique_ptr<SwappedModel>>;
using WeightPlace = std::pair<std::size_t, TensorId>;  // member, weight

constexpr std::int64_t kLinkBlocks = 8;  // of the loads by which the link is measured
constexpr int kLinkLoads = 16, kLinkRounds = 5;

/// Tensors of all models, each shared one once.
class Gathering {
 public:
  explicit Gathering(const job::Job& job) : job_(job) {
    for (std::size_t set = 0; set < job.swapping.shared.size(); ++set)
      for (const job::MemberWeight& weight : job.swapping.shared[set])
        set_of_[{weight.member, weight.tensor}] = set;
    first_.resize(job.swapping.shared.size());
  }

  /// False where operators cannot be executed: that has been answered.
  Result<bool> bring(std::size_t member, const Emit& emit) {
    const job::Job& of = job_.members[member];
    std::vector<std::pair<TensorId, at::Tensor>> drawn_as;
    for (const auto& [place, set] : set_of_)
      if (place.first == member && first_[set] && is_drawn(of, place.second))
        drawn_as.emplace_back(place.second, first_[set]->contents);
    auto model = bring_in(of, drawn_as, emit);
    PLIMSOLL_TRY(model);
    if (!*model) return false;
    for (SwappedWeight& weight : (*model)->weights) PLIMSOLL_TRY(number(member, weight));
    models.push_back(*std::move(model));
    return true;
  }

  [[nodiscard]] swapping::Models described() const {
    swapping::Models out;
    for (const SwappedWeight& tensor : tensors) out.tensors.emplace_back(tensor.contents.nbytes());
    for (const auto& model : models) {
      swapping::Model& of = out.models.emplace_back();
      of.activations = Bytes(model->activation_bytes);
      for (const SwappedLayer& layer : model->layers) {
        swapping::Layer& described = of.layers.emplace_back();
        described.seconds = layer.seconds;
        for (const std::size_t weight : layer.weights)
          described.tensors.push_back(model->weights[weight].number);
      }
    }
    return out;
  }

  Models models;
  std::vector<SwappedWeight> tensors;  ///< by number

 private:
  static bool is_drawn(const job::Job& job, TensorId id) {
    return job.random_weights &&
           std::ranges::find(job.weights, id, &job::WeightLocation::tensor) == job.weights.end();
  }

  /// What is shared has to be the same already: the first that is brought in stands for all.
  Status number(std::size_t member, SwappedWeight& weight) {
    std::optional<std::size_t> set;
    for (const TensorId id : weight.tensors)
      if (const auto found = set_of_.find({member, id}); found != set_of_.end()) set = found->second;
    if (set && first_[*set]) {
      if (!same_bits(first_[*set]->contents, weight.contents))
        return std::unexpected(Error{
            .message = fmt::format(
                "the weight '{}' of model {} holds other numbers than what it is to be shared with",
                job_.members[member].network.name_of(weight.tensors.front()), member + 1),
            .where = {},
            .hint = "`plimsoll merge` trains and writes models whose shared weights are the same bytes"});
      weight.number = first_[*set]->number;
      weight.contents = first_[*set]->contents;
      return {};
    }
    weight.number = tensors.size();
    tensors.push_back(weight);
    if (set) first_[*set] = weight;
    return {};
  }

  const job::Job& job_;
  std::map<WeightPlace, std::size_t> set_of_;
  std::vector<std::optional<SwappedWeight>> first_;  ///< of each set
};

/// How long a load of one block takes, and each block of many loads in a row, of which the next is mapped
/// while one is copied.
swapping::HostLink measure_link(BlockMemory& memory, std::int64_t block_bytes, std::int64_t room) {
  memory.enter();
  const std::int64_t each = std::clamp<std::int64_t>(room / 2, 1, kLinkBlocks);
  const BlockRange ranges[] = {{0, each}, {room > 1 ? each : 0, each}};
  const auto load = [&](BlockRange range) {
    memory.map(range);
    memory.copy(range);
  };
  std::vector<double> alone, in_a_row;
  for (int round = 0; round < kLinkRounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    load({0, 1});
    memory.finish_copies();
    memory.unmap({0, 1});
    alone.push_back(seconds_since(begin));
    begin = std::chrono::steady_clock::now();
    std::unique_ptr<Fence> copied[2];
    for (int i = 0; i < kLinkLoads; ++i) {
      const int which = room > 1 ? i % 2 : 0;
      if (copied[which]) {
        copied[which]->wait();
        memory.unmap(ranges[which]);
      }
      load(ranges[which]);
      copied[which] = memory.copied();
    }
    memory.finish_copies();
    in_a_row.push_back(seconds_since(begin));
    for (int which = 0; which < 2; ++which)
      if (copied[which]) memory.unmap(ranges[which]);
  }
  const double block = *std::ranges::min_element(in_a_row) / static_cast<double>(kLinkLoads * each);
  return {.bandwidth = BytesPerSecond(static_cast<double>(block_bytes) / block),
          .latency = Seconds(std::max(0.0, *std::ranges::min_element(alone) - block)),
          .provenance = Provenance::measured,
          .source = "copies of blocks"};
}

job::LaidOut laid_out(const swapping::Models& models, const swapping::HostLink& link) {
  job::LaidOut out;
  out.copy_bandwidth = link.bandwidth.value();
  out.copy_latency = link.latency.value();
  for (const Bytes& tensor : models.tensors) out.tensor_bytes.push_back(tensor.count());
  for (const swapping::Model& model : models.models) {
    job::LaidOut::Member& member = out.members.emplace_back();
    member.activation_bytes = model.activations.count();
    for (const swapping::Layer& layer : model.layers)
      member.layers.push_back({layer.seconds.value(), {layer.tensors.begin(), layer.tensors.end()}});
  }
  return out;
}

Status write_outputs(const job::Job& job, const std::vector<std::vector<at::Tensor>>& outputs) {
  std::map<std::string, at::Tensor> arrays;
  for (std::size_t member = 0; member < outputs.size(); ++member) {
    const network::Network& network = job.members[member].network;
    for (std::size_t i = 0; i < outputs[member].size(); ++i)
      if (outputs[member][i].defined())
        arrays[fmt::format("{}/{}", member, network.name_of(network.main().outputs[i]))] = outputs[member][i];
  }
  return write_arrays(job.swapping.outputs, arrays, job::replace_safetensors);
}

}  // namespace

Result<bool> swap(Session& whole, const Emit& emit) {
  const job::Job& job = whole.job;
  const job::Swapping& asked = job.swapping;
  const swapping::Policy* const policy = swapping::policy_named(asked.policy);
  if (policy == nullptr) return fail("there is no policy '{}'", asked.policy);
  for (const job::Job& member : job.members)
    if (member.setting.mode != network::Mode::infer || member.setting.captured)
      return fail("models that are swapped run forward and layer by layer, not captured as one");
  whole.phase = "loading";
  Gathering gathering(job);
  for (std::size_t member = 0; member < job.members.size(); ++member) {
    const Result<bool> brought = gathering.bring(member, emit);
    if (!brought || !*brought) return brought;
  }
  const swapping::Models described = gathering.described();
  const swapping::Packed packed =
      swapping::pack(described, Bytes(asked.block_bytes), swapping::kTensorAlignment);
  if (const std::int64_t least = swapping::least_capacity(packed, *policy); asked.capacity < least)
    return fail("{} needs {} blocks, of its largest {}; there is room for {}", policy->name, least,
                policy->by_blocks ? "layer" : "model", asked.capacity);
  auto memory = open_block_memory(gathering.models.front()->session.device->torch_device(), asked.block_bytes,
                                  std::max<std::int64_t>(packed.blocks, 1), asked.capacity);
  PLIMSOLL_TRY(memory);
  BlockMemory& blocks = **memory;
  for (SwappedWeight& tensor : gathering.tensors) {
    std::memcpy(blocks.host() + packed.places[tensor.number].count(), tensor.contents.data_ptr(),
                tensor.contents.nbytes());
    tensor.contents = at::Tensor();
  }
  for (const auto& model : gathering.models)
    for (SwappedWeight& weight : model->weights) {
      place_at(*model, weight, blocks.device() + packed.places[weight.number].count());
      weight.contents = at::Tensor();
    }
  const swapping::HostLink link =
      measure_link(blocks, asked.block_bytes, std::min(asked.capacity, packed.blocks));
  emit(laid_out(described, link));
  std::vector<swapping::Request> requests;
  for (const job::Swapping::Frame& frame : asked.frames)
    requests.push_back({frame.member, Seconds(frame.arrival), Seconds(frame.deadline)});
  whole.phase = "running";
  std::vector<std::vector<at::Tensor>> outputs;
  emit(take_turns({.packed = packed, .policy = *policy, .link = link, .asked = asked, .requests = requests},
                  gathering.models, blocks, emit, outputs));
  if (!asked.outputs.empty()) PLIMSOLL_TRY(write_outputs(job, outputs));
  for (const auto& model : gathering.models)  // before what they lie in goes
    for (const SwappedWeight& weight : model->weights)
      for (const TensorId id : weight.tensors) model->session.executor->keep(id, at::Tensor());
  return true;
}

}  // namespace plimsoll::engine
