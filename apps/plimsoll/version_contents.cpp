#include "version_contents.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/text.hpp"
#include "batches.hpp"
#include "job/safetensors.hpp"
#include "store/registry_files.hpp"
#include "weigh_devices.hpp"

namespace plimsoll {
namespace {

/// On the devices that were named, else on this machine's GPUs or its CPU.
Status weigh_on_devices(report::VersionContents& out, WeighOptions options) {
  options.model = out.path;
  GpuWatch watch;
  const Result<std::vector<WeighTarget>> targets = weigh_targets(options, watch);
  PLIMSOLL_TRY(targets);
  const Result<Batches> batches = Batches::load(options.model, options.inspect);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(0);
  PLIMSOLL_TRY(shapes);
  const estimate::Needs needs =
      estimate::needs(batches->network(), batches->count(*shapes), options.inspect.setting);
  Scales scales(options, *batches, *shapes, needs);
  out.batch = batches->batch_in(*shapes);
  for (const WeighTarget& target : *targets) {
    if (!target.in_full) continue;
    const Result<report::WeighedDevice> row = scales.weigh(target);
    PLIMSOLL_TRY(row);
    report::VersionOnDevice on{
        .device = row->device.id, .here = row->here, .fits = row->fits(), .no_time = row->no_time};
    if (row->memory) on.memory = row->memory->minimum_device();
    if (row->time) {
      on.time = row->time->seconds;
      on.low = row->time->low;
      on.high = row->time->high;
      on.basis = name(row->time->provenance);
    }
    out.devices.push_back(std::move(on));
  }
  return {};
}

Result<report::VersionContents> contents_of_network(const std::string& path) {
  const InspectOptions options;
  const Result<Batches> batches = Batches::load(path, options);
  PLIMSOLL_TRY(batches);
  const Result<network::Shapes> shapes = batches->shapes(1);
  PLIMSOLL_TRY(shapes);
  const program::Counts counts = batches->count(*shapes);
  return report::VersionContents{.path = path,
                                 .parameters = counts.parameters,
                                 .weights = Bytes(counts.weight_bytes),
                                 .flops = Flops(static_cast<double>(counts.forward.flops.high))};
}

Result<report::VersionContents> contents_of_arrays(const std::string& path) {
  const auto arrays = job::read_safetensors(path);
  PLIMSOLL_TRY(arrays);
  report::VersionContents out{.path = path, .weights = {}};
  double elements = 0, bytes = 0;
  for (const auto& [name, array] : *arrays) {
    double each = 1;
    for (const std::int64_t extent : array.dims) each *= static_cast<double>(extent);
    elements += each;
    bytes += static_cast<double>(array.bytes);
  }
  constexpr double kMost = 9e18;  // headers may say anything of empty arrays
  out.parameters = static_cast<std::int64_t>(std::min(elements, kMost));
  out.weights = Bytes::rounded(bytes);
  return out;
}

}  // namespace

Result<report::WeighedVersion> weighed_version(store::Store& store, const store::ModelVersion& version,
                                               const WeighOptions* on) {
  report::WeighedVersion out{.version = version};
  const Result<std::optional<std::filesystem::path>> place = store::local_files(store, version);
  PLIMSOLL_TRY(place);
  if (!*place) return out;
  const std::optional<std::filesystem::path> file = store::model_file(**place);
  if (!file) return out;
  const std::string extension = lower_case(file->extension().string());
  if (extension != ".onnx" && extension != ".safetensors") return out;
  Result<report::VersionContents> contents =
      extension == ".onnx" ? contents_of_network(file->string()) : contents_of_arrays(file->string());
  if (!contents) {
    out.problem = contents.error().text();
    return out;
  }
  // A device that nobody knows is an error of who named it, not of the file.
  if (on != nullptr && extension == ".onnx") PLIMSOLL_TRY(weigh_on_devices(*contents, *on));
  out.contents = *std::move(contents);
  return out;
}

}  // namespace plimsoll
