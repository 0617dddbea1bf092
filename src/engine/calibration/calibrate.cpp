// The task "calibrate": times of single operators, one answer each.
#include <string_view>

#include <ATen/ops/add.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include "base/statistics.hpp"
#include "engine/calibration/point_timer.hpp"
#include "engine/precision.hpp"
#include "engine/session.hpp"

namespace plimsoll::engine {
namespace {

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// A failure of one case leaves the others alone, as long as the device still answers.
job::Point point_of(const job::OperatorCase& c, Device& device, PointTimer& timer) {
  job::Point point;
  point.what = c;
  const auto failed = [&](std::string_view reason) {
    point.failure = first_line(reason);
    device.synchronize();
    device.empty_cache();
  };
  try {
    const Result<OperatorCall> call = prepare_call(c, device.torch_device());
    if (!call) {
      point.failure = call.error().text();
      return point;
    }
    const PointTime time = timer.time(*call);
    point.seconds = time.seconds;
    point.spread = time.spread;
    point.workspace_bytes = time.workspace_bytes;
  } catch (const c10::Error& error) {
    failed(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    failed("the machine has not enough memory");
  }
  return point;
}

/// The operators of a chain, each by itself and then all in a row. Those that fail are left out.
job::ChainTime chain_time(const job::OperatorChain& chain, const Device& device, PointTimer& timer) {
  job::ChainTime out{.name = chain.name};
  std::vector<OperatorCall> calls;
  for (const job::OperatorCase& c : chain.cases) {
    try {
      const Result<OperatorCall> call = prepare_call(c, device.torch_device());
      if (!call) continue;
      out.alone_seconds += timer.time(*call).seconds;
      calls.push_back(*call);
    } catch (const c10::Error&) {
      continue;
    }
  }
  // Together they compute as frameworks do by default, whatever the last of them was prepared for.
  set_float32_arithmetic(network::Precision::fp32);
  out.calls = static_cast<std::int64_t>(calls.size());
  if (!calls.empty()) out.together_seconds = timer.time_together(calls);
  return out;
}

/// What the host needs to start an operator: of small ones as they follow each other in a network, so that
/// the device is never waited for.
double launch_seconds(Device& device) {
  constexpr int kRounds = 15, kBlocks = 20, kOperatorsPerBlock = 5;
  const auto make = [&device](at::IntArrayRef dims) {
    return at::empty(dims, at::TensorOptions().device(device.torch_device())).fill_(0.25);
  };
  const at::Tensor x = make({1, 16, 8, 8}), weight = make({16, 16, 3, 3}), of_channels = make({16});
  const at::Tensor row = make({1, 64}), matrix = make({64, 64});
  const auto block = [&] {
    at::Tensor y = at::conv2d(x, weight, {}, 1, 1);
    y = at::batch_norm(y, of_channels, of_channels, of_channels, of_channels, false, 0.1, 1e-5, true);
    y = at::add(at::relu(y), x);
    static_cast<void>(at::linear(row, matrix));
  };
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    device.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kBlocks; ++i) block();
    rounds.push_back(seconds_since(begin) / (kBlocks * kOperatorsPerBlock));
  }
  return median(rounds);
}

}  // namespace

Status calibrate(Session& session, const Emit& emit) {
  const job::Job& job = session.job;
  session.phase = "context";
  Result<std::unique_ptr<Device>> opened = open_device(job.device, job.execution.threads);
  if (!opened) return std::unexpected(std::move(opened).error());
  session.device = std::move(*opened);
  Device& device = *session.device;
  emit(device.describe());
  set_float32_arithmetic(network::Precision::fp32);
  seed_generators(job.execution.seed);
  session.phase = "running";
  const c10::NoGradGuard no_gradients;
  // All on the stream that captures: what libraries keep per stream is set up once.
  device.run_aside([&] {
    device.share_captures();
    PointTimer timer(device);
    if (!device.torch_device().is_cpu()) {
      emit(job::Launch{launch_seconds(device)});
      for (const job::OperatorChain& chain : job.chains) emit(chain_time(chain, device, timer));
    }
    for (const job::OperatorCase& c : job.cases) emit(point_of(c, device, timer));
  });
  return {};
}

}  // namespace plimsoll::engine
