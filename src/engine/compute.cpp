// The tasks "compute" and "train": results on given data.
#include <algorithm>
#include <chrono>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randperm.h>
#include <c10/core/GradMode.h>

#include "engine/arrays.hpp"
#include "engine/precision.hpp"
#include "engine/session.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using network::TensorId;
using Arrays = std::map<std::string, at::Tensor>;

Result<GivenInputs> given_inputs(const Session& session, const Arrays& arrays) {
  const at::Device device = session.device->torch_device();
  Result<GivenInputs> drawn = random_inputs(session.job, session.shapes, device);
  if (!drawn) return drawn;
  const Numbers numbers = numbers_of(session.job.setting.precision);
  for (auto& [id, tensor] : *drawn) {
    const auto it = arrays.find(std::string(session.job.network.name_of(id)));
    if (it != arrays.end()) tensor = it->second.to(device, numbers.stored(it->second.scalar_type()));
  }
  return drawn;
}

void store(Arrays& results, const std::string& name, const Value& value) {
  if (!value.is_sequence) {
    if (value.tensor.defined()) results[name] = value.tensor;
    return;
  }
  for (std::size_t i = 0; i < value.sequence.size(); ++i)
    results[fmt::format("{}/{}", name, i)] = value.sequence[i];
}

}  // namespace

Status compute(Session& session, const Emit&) {
  session.phase = "running";
  const job::Job& job = session.job;
  Arrays arrays;
  if (!job.inputs_file.empty()) {
    Result<Arrays> read = read_arrays(job.inputs_file);
    if (!read) return std::unexpected(std::move(read).error());
    arrays = std::move(*read);
  }
  Result<GivenInputs> inputs = given_inputs(session, arrays);
  if (!inputs) return std::unexpected(std::move(inputs).error());
  const bool training = job.setting.mode == network::Mode::train;
  const at::AutoGradMode gradients(training);
  Arrays results;
  std::vector<Value> outputs;
  {
    const Autocast autocast(job.setting.precision, session.device->torch_device());
    outputs = session.executor->run(*inputs);
  }
  const auto& ids = job.network.main().outputs;
  for (std::size_t i = 0; i < ids.size(); ++i)
    store(results, std::string(job.network.name_of(ids[i])), outputs[i]);
  if (training && !outputs.empty()) {
    at::Tensor labels;
    if (const auto it = arrays.find("labels"); it != arrays.end())
      labels = it->second.to(session.device->torch_device());
    else
      labels = random_labels(job.setting.loss, outputs[0].tensor.sizes(), session.device->torch_device(),
                             job.execution.seed);
    const at::Tensor loss = loss_of(job.setting.loss, outputs[0].tensor, labels);
    loss.backward();
    results["loss"] = loss;
    std::vector<std::string> names;
    const std::vector<at::Tensor> parameters = trained_parameters(job, *session.executor, &names);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].grad().defined()) results["gradient/" + names[i]] = parameters[i].grad();
  }
  if (job.outputs_file.empty()) return {};
  return write_arrays(job.outputs_file, results);
}

namespace {

/// Examples in batches of one size: the routine is made for it. What is left over at the end is filled up
/// with the first examples, and not counted.
struct Batches {
  at::Tensor inputs, labels;
  std::int64_t size = 1;

  [[nodiscard]] std::int64_t examples() const { return inputs.size(0); }
  [[nodiscard]] std::int64_t whole() const { return examples() / size; }
  [[nodiscard]] at::Tensor rows(const at::Tensor& of, const at::Tensor& order, std::int64_t batch) const {
    at::Tensor which = order.slice(0, batch * size, std::min((batch + 1) * size, examples()));
    return of.index_select(0, which);
  }
};

Result<at::Tensor> array(const Arrays& arrays, const std::string& name, const std::string& file) {
  const auto it = arrays.find(name);
  if (it == arrays.end()) return fail("{} holds no array '{}'", file, name);
  if (it->second.dim() == 0) return fail("'{}' in {} is a single number, not examples", name, file);
  return it->second;
}

class Learning {
 public:
  Learning(Session& session, const Emit& emit) : session_(session), emit_(emit), job_(session.job) {}

  Status run() {
    if (Status read = read_data(); !read) return read;
    Result<std::unique_ptr<Executor>> tester = other_mode(session_, network::Mode::infer, test_setting_);
    if (!tester) return std::unexpected(std::move(tester).error());
    tester_ = std::move(*tester);
    Optimizer optimizer(job_.setting.optimizer, job_.execution.learning_rate,
                        trained_parameters(job_, *session_.executor));
    at::Generator shuffling = at::detail::createCPUGenerator(job_.execution.seed + 3);
    for (std::int64_t epoch = 0; epoch < job_.data->epochs; ++epoch) {
      const auto begin = std::chrono::steady_clock::now();
      job::Epoch told{
          .epoch = epoch, .losses = learn(optimizer, shuffling, epoch), .seconds = 0, .accuracy = {}};
      session_.device->synchronize();
      told.seconds = seconds_since(begin);
      if (test_.inputs.defined()) told.accuracy = accuracy();
      emit_(told);
    }
    return {};
  }

 private:
  Status read_data() {
    const job::Data& data = *job_.data;
    Result<Arrays> arrays = read_arrays(data.file);
    if (!arrays) return std::unexpected(std::move(arrays).error());
    for (const TensorId id : job_.network.main().inputs)
      if (job_.network.tensor(id).role == network::Role::input) inputs_.push_back(id);
    if (inputs_.size() != 1) return fail("training takes networks of one input; this has {}", inputs_.size());
    const auto dims = session_.shapes.dims(inputs_[0]);
    if (dims.empty() || !dims[0].exact()) return fail("the batch of the network's input is not known");
    Result<at::Tensor> inputs = array(*arrays, data.inputs, data.file),
                       labels = array(*arrays, data.labels, data.file);
    if (!inputs) return std::unexpected(std::move(inputs).error());
    if (!labels) return std::unexpected(std::move(labels).error());
    training_ = {*inputs, *labels, dims[0].value()};
    if (training_.examples() < training_.size)
      return fail("{} examples are fewer than a batch of {}", training_.examples(), training_.size);
    if (training_.labels.size(0) != training_.examples())
      return fail("there are not as many labels as inputs");
    if (arrays->contains(data.test_inputs) && arrays->contains(data.test_labels))
      test_ = {arrays->at(data.test_inputs), arrays->at(data.test_labels), dims[0].value()};
    return {};
  }

  [[nodiscard]] GivenInputs on_device(const at::Tensor& rows) const {
    const Numbers numbers = numbers_of(job_.setting.precision);
    at::Tensor values = rows.scalar_type() == at::kByte ? rows.to(at::kFloat).div(255) : rows;  // images
    values = values.to(session_.device->torch_device(), numbers.stored(values.scalar_type()));
    return {{inputs_[0], values}};
  }

  std::vector<double> learn(Optimizer& optimizer, at::Generator& shuffling, std::int64_t epoch) {
    const std::int64_t examples = training_.examples(), batches = training_.whole();
    at::Tensor order = at::randperm(examples, shuffling, at::kLong);
    if (!job_.data->shuffle) order = std::get<0>(order.sort());
    std::vector<at::Tensor> losses;
    auto told = std::chrono::steady_clock::now();
    for (std::int64_t b = 0; b < batches; ++b) {
      const GivenInputs inputs = on_device(training_.rows(training_.inputs, order, b));
      const at::Tensor labels =
          training_.rows(training_.labels, order, b).to(session_.device->torch_device());
      losses.push_back(training_step(job_.setting, *session_.executor, inputs, labels, optimizer));
      if (std::chrono::steady_clock::now() - told < std::chrono::seconds(1)) continue;
      told = std::chrono::steady_clock::now();
      const double done =
          static_cast<double>(epoch * batches + b + 1) / static_cast<double>(job_.data->epochs * batches);
      emit_(job::Progress{.phase = "training", .done = done, .seconds_left = {}});
    }
    std::vector<double> numbers;
    for (const at::Tensor& loss : losses) numbers.push_back(loss.to(at::kDouble).item().toDouble());
    return numbers;
  }

  double accuracy() {
    const c10::NoGradGuard no_gradients;
    std::int64_t right = 0;
    const std::int64_t examples = test_.examples();
    for (std::int64_t first = 0; first < examples; first += test_.size) {
      const std::int64_t count = std::min(test_.size, examples - first);
      at::Tensor which = at::arange(first, first + test_.size, at::kLong).clamp_max(examples - 1);
      const std::vector<Value> outputs = tester_->run(on_device(test_.inputs.index_select(0, which)));
      const at::Tensor guessed = outputs[0].tensor.argmax(1).to(at::kCPU).slice(0, 0, count);
      right += guessed.eq(test_.labels.slice(0, first, first + count)).sum().item().toLong();
    }
    return static_cast<double>(right) / static_cast<double>(examples);
  }

  Session& session_;
  const Emit& emit_;
  const job::Job& job_;
  network::Setting test_setting_;
  std::unique_ptr<Executor> tester_;
  std::vector<TensorId> inputs_;
  Batches training_, test_;
};

}  // namespace

Status train(Session& session, const Emit& emit) {
  session.phase = "running";
  if (!session.job.data) return fail("the job names no data to learn from");
  if (session.job.setting.mode != network::Mode::train) return fail("learning needs the mode train");
  return Learning(session, emit).run();
}

}  // namespace plimsoll::engine
