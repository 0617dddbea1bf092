#include "precision_engine.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/mapped_file.hpp"
#include "base/printable.hpp"
#include "job/safetensors.hpp"
#include "measure/engine_run.hpp"
#include "measure/row.hpp"
#include "network/batch.hpp"
#include "progress_line.hpp"

namespace plimsoll {
namespace {

constexpr std::int64_t kExamineBatch = 64;
constexpr measure::EngineLimits kPrecisionLimits{.whole = std::chrono::hours(24),
                                                 .silence = std::chrono::hours(1)};

/// Why a job of an engine came to nothing, if it did.
std::optional<Error> engine_failure(const job::Answer& answer) {
  if (const auto* failure = std::get_if<job::Failure>(&answer)) {
    Error error{failure->message, failure->where, failure->hint};
    if (failure->kind == "machine-lacks") error.kind = Error::Kind::machine_lacks;
    return error;
  }
  if (const auto* full = std::get_if<job::DoesNotFit>(&answer))
    return Error{"it does not fit: " + full->message, {}, {}};
  if (const auto* missing = std::get_if<job::Unsupported>(&answer); missing && !missing->operators.empty())
    return Error{fmt::format("the engine cannot execute {}: {}", printable(missing->operators.front().op),
                             printable(missing->operators.front().reason)),
                 {},
                 {},
                 Error::Kind::machine_lacks};
  return std::nullopt;
}

template <class T>
Result<std::vector<T>> stored_numbers(const std::map<std::string, job::StoredArray>& arrays,
                                      const MappedFile& file, const std::string& name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) return fail("the engine left no array '{}'", name);
  std::vector<T> out(static_cast<std::size_t>(found->second.bytes) / sizeof(T));
  std::memcpy(out.data(), file.bytes().data() + found->second.offset, out.size() * sizeof(T));
  return out;
}

}  // namespace

Result<job::Job> PrecisionEngine::job_for(const RunnableNetwork& of, std::int64_t batch,
                                          network::Precision precision) const {
  job::Job job;
  job.network = of.network;
  job.files = of.files;
  job.weights = of.weights;
  network::Setting setting;
  setting.precision = precision;
  setting.batch = batch;
  Result<network::BindingRequest> request = options_.train.binding.request(setting, true);
  PLIMSOLL_TRY(request);
  Result<network::Binding> binding = network::bind(of.network, *request);
  if (!binding) {
    // One that was made for batches of one size.
    setting.batch.reset();
    request = options_.train.binding.request(setting, true);
    PLIMSOLL_TRY(request);
    binding = network::bind(of.network, *request);
  }
  PLIMSOLL_TRY(binding);
  job.binding = *std::move(binding);
  const Result<network::Shapes> shapes = network::infer(job.network, job.binding);
  PLIMSOLL_TRY(shapes);
  setting.batch = network::batch_of(job.network, *shapes);
  job.setting = setting;
  job.device = training_.device;
  job.execution = options_.train.execution;
  job.execution.quantized_by = options_.kernels;
  return job;
}

Status PrecisionEngine::run(const job::Job& job, const std::string& what) {
  std::optional<Error> failed;
  ProgressLine progress(1, 0);
  progress.begin_row(what);
  const measure::EngineListener listener{.on_answer =
                                             [&](const job::Answer& answer) {
                                               if (!failed) failed = engine_failure(answer);
                                               if (const auto* at = std::get_if<job::Progress>(&answer))
                                                 progress.show(*at);
                                             },
                                         .on_turn = {},
                                         .interrupted = [&] { return interruption_.came(); }};
  const auto end = measure::run_engine(engine_, job, kPrecisionLimits, listener);
  PLIMSOLL_TRY(end);
  if (*end == measure::EngineEnd::interrupted) return fail("interrupted");
  if (failed) return std::unexpected(*failed);
  return {};
}

Result<Judgement> PrecisionEngine::judge(const RunnableNetwork& of, network::Precision precision,
                                         const std::string& what, const std::vector<std::int64_t>& places) {
  Result<job::Job> job = job_for(of, kExamineBatch, precision);
  PLIMSOLL_TRY(job);
  Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-precision");
  PLIMSOLL_TRY(folder);
  job->task = job::Task::examine;
  job->data = training_.data;
  job->data->examples = 0;
  job->learning.augmentation = training_.learning.augmentation;
  job->examining = {.test = true, .places = places, .observed = {}};
  job->outputs_file = (folder->path() / "answers.safetensors").string();
  PLIMSOLL_TRY(run(*job, what));
  const auto arrays = job::read_safetensors(job->outputs_file);
  PLIMSOLL_TRY(arrays);
  const Result<MappedFile> file = MappedFile::open(job->outputs_file);
  PLIMSOLL_TRY(file);
  auto predicted = stored_numbers<std::int64_t>(*arrays, *file, "predicted");
  PLIMSOLL_TRY(predicted);
  auto labels = stored_numbers<std::int64_t>(*arrays, *file, "labels");
  PLIMSOLL_TRY(labels);
  auto losses = stored_numbers<float>(*arrays, *file, "losses");
  PLIMSOLL_TRY(losses);
  return Judgement{*std::move(predicted), *std::move(labels), *std::move(losses)};
}

Result<std::map<network::TensorId, quantize::Histogram>> PrecisionEngine::observe(
    const RunnableNetwork& of, const std::vector<network::TensorId>& tensors) {
  Result<job::Job> job = job_for(of, kExamineBatch, network::Precision::fp32);
  PLIMSOLL_TRY(job);
  Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-precision");
  PLIMSOLL_TRY(folder);
  job->task = job::Task::examine;
  job->data = training_.data;
  job->data->examples = options_.calibration;
  job->learning.augmentation = training_.learning.augmentation;
  job->examining = {.test = false, .places = {}, .observed = tensors};
  // Every tensor is there to be looked at where each operator runs by itself, and none over another.
  job->setting.literal = true;
  job->setting.in_place = network::InPlace::never;
  job->outputs_file = (folder->path() / "answers.safetensors").string();
  PLIMSOLL_TRY(run(*job, "ranges"));
  const auto arrays = job::read_safetensors(job->outputs_file);
  PLIMSOLL_TRY(arrays);
  const Result<MappedFile> file = MappedFile::open(job->outputs_file);
  PLIMSOLL_TRY(file);
  std::map<network::TensorId, quantize::Histogram> out;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto range = stored_numbers<double>(*arrays, *file, fmt::format("range/{}", i));
    PLIMSOLL_TRY(range);
    auto counts = stored_numbers<double>(*arrays, *file, fmt::format("histogram/{}", i));
    PLIMSOLL_TRY(counts);
    if (range->size() != 2) return fail("the engine left a range of {} numbers", range->size());
    out[tensors[i]] = {(*range)[0], (*range)[1], *std::move(counts)};
  }
  return out;
}

std::optional<measure::Row> PrecisionEngine::time(const RunnableNetwork& of, network::Precision precision,
                                                  const std::string& what) {
  Result<job::Job> job = job_for(of, options_.batch, precision);
  if (!job) {
    measure::Row row;
    row.failure = job.error();
    return row;
  }
  job->task = job::Task::measure;
  job->protocol.seconds = options_.seconds;
  if (measure::energy_can_be_read(job->device, library_))
    job->protocol.energy_seconds = std::max(3.0, options_.seconds);
  ProgressLine progress(1, options_.seconds);
  progress.begin_row(what);
  const measure::Instruments instruments{.engine = engine_,
                                         .limits = kPrecisionLimits,
                                         .nvml = library_,
                                         .on_progress = [&](const job::Progress& at) { progress.show(at); },
                                         .interrupted = [&] { return interruption_.came(); }};
  return measure::measure_row(*job, job->setting.batch.value_or(1), instruments);
}

Result<RunnableNetwork> runnable(const quantize::Model& model, const RunnableNetwork& original,
                                 const std::filesystem::path& folder) {
  RunnableNetwork out{model.network, original.files, {}};
  const auto& stored = model.network.main().weights;
  const std::set<network::TensorId> left(stored.begin(), stored.end());
  const std::set<network::TensorId> before(original.network.main().weights.begin(),
                                           original.network.main().weights.end());
  // Of those that an operator's attribute holds none is in a graph's list.
  for (const job::WeightLocation& weight : original.weights)
    if (left.contains(weight.tensor) || !before.contains(weight.tensor)) out.weights.push_back(weight);
  const std::filesystem::path path = folder / "added.bin";
  std::ofstream file(path, std::ios::binary);
  std::int64_t at = 0;
  for (const auto& [id, bytes] : model.contents) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a stream takes characters
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    out.weights.push_back({id, static_cast<std::uint32_t>(out.files.size()), at, std::ssize(bytes)});
    at += std::ssize(bytes);
  }
  file.close();
  if (!file)
    return std::unexpected(Error{.message = "cannot be written",
                                 .where = printable(path.string()),
                                 .hint = "Set TMPDIR to a directory with room for it.",
                                 .kind = Error::Kind::machine_lacks});
  out.files.push_back(path.string());
  return out;
}

quantize::ReadFloats floats_of(const RunnableNetwork& of) {
  return [&of](network::TensorId id) -> Result<std::vector<float>> {
    const auto found = std::ranges::find(of.weights, id, &job::WeightLocation::tensor);
    if (found == of.weights.end()) {
      const network::Tensor& tensor = of.network.tensor(id);
      if (!tensor.has_value) return fail("the contents of {} are missing", quote(of.network.name_of(id)));
      std::vector<float> out;
      for (const network::Scalar& s : of.network.value_of(tensor))
        out.push_back(static_cast<float>(s.real()));
      return out;
    }
    const Result<MappedFile> file = MappedFile::open(of.files.at(found->file));
    PLIMSOLL_TRY(file);
    if (found->offset < 0 || found->bytes < 0 || found->offset > std::ssize(file->bytes()) - found->bytes)
      return fail("{} lies beyond the end of {}", quote(of.network.name_of(id)),
                  printable(of.files[found->file]));
    std::vector<float> out(static_cast<std::size_t>(found->bytes) / sizeof(float));
    std::memcpy(out.data(), file->bytes().data() + found->offset, out.size() * sizeof(float));
    return out;
  };
}

}  // namespace plimsoll
