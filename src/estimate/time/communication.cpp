#include "estimate/time/communication.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "estimate/time/energy.hpp"
#include "network/saturating.hpp"
#include "program/checkpoints.hpp"

namespace plimsoll::estimate {
namespace {

using network::Sharding;
using program::Program;
using program::StorageId;
using program::ValueId;

/// Bytes by storage, in the type in which a weight is exchanged where devices divide it: that of its copy in
/// half precision, where products take that.
std::vector<std::int64_t> exchanged_bytes(const Program& program, bool divided) {
  std::vector<std::int64_t> out(program.storages.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = program.storages[i].bytes;
  if (divided)
    for (const program::WeightCopy& c : program.weight_copies)
      out[static_cast<std::size_t>(c.weight)] =
          std::min(out[static_cast<std::size_t>(c.weight)], program.storage(c.copy).bytes);
  return out;
}

/// Part of `all` bytes that one of equal messages has.
Bytes piece(Bytes all, std::int64_t messages) {
  return Bytes::rounded(static_cast<double>(all.count()) /
                        static_cast<double>(std::max<std::int64_t>(messages, 1)));
}

/// Messages one after the other, each of an equal piece.
template <class Time>
Seconds in_pieces(Bytes all, std::int64_t messages, Time&& time) {
  if (all <= Bytes()) return Seconds();
  return time(piece(all, messages)) * static_cast<double>(std::max<std::int64_t>(messages, 1));
}

/// What a transfer costs beside work that it can hide behind, all but its last (or first) piece.
struct Hidden {
  Seconds all, exposed, low;
  static Hidden behind(Seconds all, Seconds work, Seconds open) {
    return {all, std::max(std::min(open, all), all - work), std::max(Seconds(), all - work)};
  }
  static Hidden nowhere(Seconds all, Seconds work) { return {all, all, std::max(Seconds(), all - work)}; }
  void add_to(CommunicationTime& out, double times) const {
    out.seconds += all * times;
    out.exposed += exposed * times;
    out.low += low * times;
    out.high += all * times;
  }
};

}  // namespace

Exchange exchange_of(const Program& program, const network::Setting& setting) {
  const bool divided = network::sharded(setting).weights > 1;
  const std::vector<std::int64_t> bytes = exchanged_bytes(program, divided);
  const auto of = [&](StorageId id) { return Bytes(bytes[static_cast<std::size_t>(id)]); };
  Exchange out;
  for (const ValueId id : program.parameters)
    if (program.value(id).needs_gradient) out.gradients += of(program.value(id).storage);
  const std::vector<std::uint32_t> cuts =
      setting.checkpoint ? program::checkpoints(program) : std::vector<std::uint32_t>();
  for (const program::Layer& layer : program.layers) {
    Bytes all;
    for (const StorageId id : std::span(program.weights_of).subspan(layer.weights.begin, layer.weights.count))
      all += of(id);
    out.weights += all;
    if (out.layers++ == 0) out.first = all;
    if (cuts.empty() || layer.last >= cuts.back()) continue;
    out.again += all;
    ++out.layers_again;
  }
  return out;
}

Result<KnownLink> link_between(const hardware::Device& device, const network::Interconnect& interconnect,
                               std::int64_t devices) {
  KnownLink out;
  out.latency_known = interconnect.latency.has_value();
  out.link.latency = Seconds(interconnect.latency.value_or(0));
  if (interconnect.bandwidth) {
    out.link.bandwidth = BytesPerSecond(*interconnect.bandwidth);
    return out;
  }
  if (devices > interconnect.devices_per_machine)
    return std::unexpected(Error{
        fmt::format("{} GPUs are more than the {} of a machine, and what connects machines is not known",
                    devices, interconnect.devices_per_machine),
        {},
        "Give the rate of each GPU's link in one direction, as in --link 50GB/s."});
  const auto both = hardware::link_bandwidth(device);
  if (!both)
    return std::unexpected(
        Error{fmt::format("how fast the link between several {} is, is not known{}", device.name,
                          device.link.empty() ? "" : fmt::format(" ({})", device.link)),
              {},
              "Give its rate in one direction, as in --link 16GB/s."});
  out.link.bandwidth = *both / 2;  // datasheets add both directions
  return out;
}

CommunicationTime communication_of(const Exchange& exchange, Sharding sharding, std::int64_t devices,
                                   const KnownLink& known, const PassTimes& beside) {
  CommunicationTime out{.link = known.link, .latency_known = known.latency_known};
  if (devices <= 1 || sharding == Sharding::none) return out;
  const Link& link = known.link;
  const auto n = static_cast<double>(devices);
  const auto sum = [&](Bytes size) { return all_reduce(Communication::ring, size, devices, link); };
  const auto half = [&](Bytes size) { return all_gather(size, devices, link); };  // or a reduce-scatter
  const auto sent = [&](Bytes size) { return (n - 1) / n * static_cast<double>(size.count()); };
  const double passes = beside.passes;
  const std::int64_t buckets = network::divided(exchange.gradients.count(), kBucket.count());
  if (sharding == Sharding::data_parallel) {
    Hidden::behind(in_pieces(exchange.gradients, buckets, sum), beside.backward,
                   sum(std::min(kBucket, exchange.gradients)))
        .add_to(out, 1);
    out.bytes = 2 * sent(exchange.gradients);
    return out;
  }
  if (sharding < Sharding::zero3) {
    // Whole gradients are reduced when the last pass is done, divided ones in every pass.
    const double reductions = sharding == Sharding::zero1 ? 1 : passes;
    Hidden::behind(in_pieces(exchange.gradients, buckets, half), beside.backward,
                   half(std::min(kBucket, exchange.gradients)))
        .add_to(out, reductions);
    Hidden::nowhere(in_pieces(exchange.gradients, buckets, half), beside.forward).add_to(out, 1);
    out.bytes = (reductions + 1) * sent(exchange.gradients);
    return out;
  }
  const Seconds gathered = in_pieces(exchange.weights, exchange.layers, half);
  const Seconds first = half(exchange.first);
  Hidden::behind(gathered, beside.forward, first).add_to(out, passes);
  const Seconds backward = gathered + in_pieces(exchange.again, exchange.layers_again, half) +
                           in_pieces(exchange.gradients, exchange.layers, half);
  // Its last layer is fetched before anything runs, and the first one's gradients are ready only at the end.
  const Seconds last = half(std::min(exchange.first, exchange.gradients));
  Hidden::behind(backward, beside.backward, first + last).add_to(out, passes);
  out.bytes = passes * (2 * sent(exchange.weights) + sent(exchange.again) + sent(exchange.gradients));
  return out;
}

void add_waiting(TimeEstimate& time, Seconds waiting, Seconds low, Seconds high,
                 const hardware::Device& device) {
  const Seconds before = time.seconds;
  time.seconds += waiting;
  time.low += low;
  time.high += high;
  time.eager += waiting;
  if (time.share_of_peak && time.seconds > Seconds()) *time.share_of_peak *= before / time.seconds;
  const EnergyMeter meter(device, time.provenance == Provenance::calibrated);
  if (!time.joules || !meter.idle()) return;
  *time.joules += *meter.idle() * waiting;
  if (time.low_joules) *time.low_joules += *meter.idle() * low;
  if (time.high_joules) *time.high_joules += *meter.idle() * high;
}

Result<TimeEstimate> with_communication(TimeEstimate alone, const Program& program,
                                        const network::Setting& setting, const hardware::Device& device) {
  const Sharding sharding = network::effective_sharding(setting);
  if (sharding == Sharding::none) return alone;
  const Result<KnownLink> link = link_between(device, setting.interconnect, setting.devices);
  if (!link) {
    Error error = link.error();
    error.hint = fmt::format("Computing alone takes {} a step. {}", text(alone.seconds), error.hint);
    return std::unexpected(std::move(error));
  }
  const double passes = alone.passes;
  const CommunicationTime communication =
      communication_of(exchange_of(program, setting), sharding, setting.devices, *link,
                       {alone.forward / passes, alone.backward / passes, alone.passes});
  add_waiting(alone, communication.exposed, communication.low, communication.high, device);
  alone.devices = setting.devices;
  if (!communication.latency_known)
    alone.notes.emplace_back("the latency of messages between GPUs is left out (--link-latency)");
  alone.communication = communication;
  return alone;
}

std::string_view bound_by(const TimeEstimate& time) {
  if (time.communication && time.communication->exposed > time.seconds / 2) return "communication";
  return name(time.bottleneck);
}

}  // namespace plimsoll::estimate
