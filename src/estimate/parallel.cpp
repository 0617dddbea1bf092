#include "estimate/parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/named.hpp"

namespace plimsoll::estimate {
namespace {

constexpr std::array<std::string_view, 5> kCommunications = {"ring", "tree", "butterfly", "halving-doubling",
                                                             "parameter-server"};

double floor_log2(std::int64_t n) {
  return std::bit_width(static_cast<std::uint64_t>(n)) - 1;
}
double ceil_log2(std::int64_t n) {
  return std::bit_width(static_cast<std::uint64_t>(n - 1));
}

/// The butterflies need a power of two: the devices beyond it first hand their part to a partner, and get the
/// sum from it in the end. PALEO's ⌈log2 n⌉ leaves that out.
Seconds fold(Seconds message, Seconds latency, std::int64_t devices) {
  const bool power = std::has_single_bit(static_cast<std::uint64_t>(devices));
  return power ? Seconds() : 2 * (message + latency);
}

}  // namespace

std::string_view name(Communication communication) {
  return kCommunications[static_cast<std::size_t>(communication)];
}
std::optional<Communication> communication_named(std::string_view name) {
  return named<Communication>(name, kCommunications);
}

Seconds all_reduce(Communication communication, Bytes size, std::int64_t devices, const Link& link,
                   std::int64_t servers) {
  if (devices <= 1) return Seconds();
  const Seconds message = size / link.bandwidth;
  const auto n = static_cast<double>(devices);
  switch (communication) {
    case Communication::ring: return 2 * (n - 1) / n * message + 2 * (n - 1) * link.latency;
    case Communication::tree: return 2 * ceil_log2(devices) * (message + link.latency);
    case Communication::butterfly:
      return floor_log2(devices) * (message + link.latency) + fold(message, link.latency, devices);
    case Communication::halving_doubling: {
      const double p = std::bit_floor(static_cast<std::uint64_t>(devices));
      return 2 * (p - 1) / p * message + 2 * floor_log2(devices) * link.latency +
             fold(message, link.latency, devices);
    }
    case Communication::parameter_server: {
      // Servers are workers too. Each takes its part from n - 1 others through its one link, and sends it
      // back.
      const auto s = static_cast<double>(std::clamp<std::int64_t>(servers, 1, devices));
      return 2 * (n - 1) / s * message + 2 * link.latency;
    }
  }
  return Seconds();
}

Seconds all_gather(Bytes size, std::int64_t devices, const Link& link) {
  return all_reduce(Communication::ring, size, devices, link) / 2;
}

StepOf proportional(StepTime known, double batch) {
  return [known, batch](double local_batch) -> Result<StepTime> {
    const double share = local_batch / batch;
    return StepTime{known.forward * share, known.backward * share, known.update};
  };
}

Result<ParallelStep> parallel_step(const ParallelSetting& setting, std::int64_t devices, double local_batch,
                                   const StepOf& step_of) {
  const Split& split = setting.split;
  if (split.tensor < 1 || split.pipeline < 1 || split.micro_batches < 1 || devices < 1)
    return fail("devices, stages and micro-batches are at least one each");
  const std::int64_t replica = split.devices_per_replica();
  if (devices % replica != 0)
    return fail("{} devices do not divide into replicas of {} ({} tensor-parallel times {} stages)", devices,
                replica, split.tensor, split.pipeline);
  const Result<StepTime> one = step_of(local_batch);
  PLIMSOLL_TRY(one);
  const std::int64_t replicas = devices / replica;
  const auto parts = static_cast<double>(replica);
  ParallelStep out{.devices = devices,
                   .local_batch = local_batch,
                   .global_batch = local_batch * static_cast<double>(replicas)};
  const Seconds backward = one->backward / parts;
  out.compute = one->whole() / parts;
  // GPipe: of k micro-batches through p stages, k + p - 1 slots of which k are work.
  const auto k = static_cast<double>(split.micro_batches);
  out.bubble = (one->forward + one->backward) / parts * (static_cast<double>(split.pipeline - 1) / k);
  const auto of_batch = [&](Bytes per_sample) {
    return Bytes::rounded(static_cast<double>(per_sample.count()) * local_batch);
  };
  // A stage sums only the part of the layers that it has.
  out.inner =
      all_reduce(Communication::ring, of_batch(split.tensor_sums_per_sample), split.tensor, setting.link) /
      static_cast<double>(split.pipeline);
  if (split.pipeline > 1) {
    // Stages send while others compute; what the last micro-batch's way through all stages takes is not
    // hidden.
    const Seconds micro = of_batch(split.between_stages_per_sample) / setting.link.bandwidth / k;
    out.inner += 2 * static_cast<double>(split.pipeline - 1) * (micro + setting.link.latency);
  }
  const Bytes gradients = Bytes::rounded(static_cast<double>(setting.gradients.count()) / parts);
  out.communication = all_reduce(setting.communication, gradients, replicas, setting.link, setting.servers);
  out.exposed = std::max(Seconds(), out.communication - backward * std::clamp(setting.overlap, 0.0, 1.0));
  out.step = out.compute + out.bubble + out.inner + out.exposed;
  out.samples_per_second = out.global_batch / out.step.value();
  return out;
}

Result<std::vector<ParallelStep>> scaling(const ParallelSetting& setting, Scaling kind, double batch,
                                          std::span<const std::int64_t> devices, const StepOf& step_of) {
  const Result<StepTime> alone = step_of(batch);
  PLIMSOLL_TRY(alone);
  const double base = batch / alone->whole().value();
  std::vector<ParallelStep> rows;
  for (const std::int64_t n : devices) {
    const std::int64_t replicas = std::max<std::int64_t>(1, n / setting.split.devices_per_replica());
    const double local = kind == Scaling::weak ? batch : batch / static_cast<double>(replicas);
    if (local < 1) return fail("a batch of {} cannot be divided over {} replicas", batch, replicas);
    Result<ParallelStep> row = parallel_step(setting, n, local, step_of);
    PLIMSOLL_TRY(row);
    row->speedup = row->samples_per_second / base;
    row->efficiency = row->speedup / static_cast<double>(n);
    rows.push_back(*row);
  }
  return rows;
}

}  // namespace plimsoll::estimate
