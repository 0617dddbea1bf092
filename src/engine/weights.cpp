#include "engine/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

#include "base/mapped_file.hpp"
#include "network/initial_weights.hpp"

namespace plimsoll::engine {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Role;
using network::TensorId;

Result<std::vector<std::int64_t>> extents(const network::Network& network, const network::Shapes& shapes,
                                          TensorId id) {
  std::vector<std::int64_t> dims;
  // A tensor inside an attribute takes no part in inference, but is declared.
  const network::Tensor& tensor = network.tensor(id);
  if (!shapes.ranked(id) && tensor.has_shape) {
    for (const network::Dim d : network.dims_of(tensor)) dims.push_back(d.value());
    return dims;
  }
  if (!shapes.ranked(id)) return fail("the rank of '{}' is not known", network.name_of(id));
  for (const network::Dim d : shapes.dims(id)) {
    if (!d.exact()) return fail("the shape of '{}' is not known: {}", network.name_of(id), shapes.text(id));
    dims.push_back(d.value());
  }
  return dims;
}

/// How a weight without contents is drawn, by how it is used.
enum class Drawing : std::uint8_t { spread, ones, zeros, positions };

/// A stored row of indices into a table that has as many rows or more: positions.
bool indexes_positions(const network::Network& network, const network::Operator& op) {
  const auto inputs = network.inputs(op);
  if (network.type_of(op) != "Gather" || inputs.size() < 2) return false;
  const network::Tensor &table = network.tensor(inputs[0]), &indices = network.tensor(inputs[1]);
  if (!table.has_shape || !indices.has_shape || indices.role == Role::computed) return false;
  const auto rows = network.dims_of(table), row = network.dims_of(indices);
  return !rows.empty() && !row.empty() && rows[0].exact() && row.back().exact() && row.back().value() > 1 &&
         row.back().value() <= rows[0].value();
}

/// Scales and variances of normalisations are ones, means zeros; all else is spread.
std::vector<Drawing> drawings(const network::Network& network) {
  struct Use {
    std::string_view type;
    std::size_t input;
    Drawing drawing;
  };
  static constexpr Use kUses[] = {
      {"BatchNormalization", 1, Drawing::ones},    {"BatchNormalization", 3, Drawing::zeros},
      {"BatchNormalization", 4, Drawing::ones},    {"LayerNormalization", 1, Drawing::ones},
      {"InstanceNormalization", 1, Drawing::ones}, {"GroupNormalization", 1, Drawing::ones},
      {"RMSNormalization", 1, Drawing::ones},
  };
  std::vector<Drawing> found(network.tensors.size(), Drawing::spread);
  std::unordered_map<std::uint32_t, TensorId> behind_identity;
  for (const network::Graph& graph : network.graphs)
    for (const network::Operator& op : graph.operators) {
      const auto inputs = network.inputs(op);
      const std::string_view type = network.type_of(op);
      if (type == "Identity" && !inputs.empty() && !network.outputs(op).empty())
        behind_identity[static_cast<std::uint32_t>(network.outputs(op)[0])] = inputs[0];
      if (indexes_positions(network, op)) found[index(inputs[1])] = Drawing::positions;
      for (const Use& use : kUses) {
        if (use.type != type || use.input >= inputs.size() || inputs[use.input] == kNoTensor) continue;
        TensorId id = inputs[use.input];
        if (const auto it = behind_identity.find(static_cast<std::uint32_t>(id)); it != behind_identity.end())
          id = it->second;
        found[index(id)] = use.drawing;
      }
    }
  return found;
}

/// Truth values that are stored are masks: a square allows what is not later, others allow everything.
at::Tensor drawn_mask(const std::vector<std::int64_t>& dims) {
  at::Tensor mask = at::ones(dims, at::kBool);
  const std::size_t n = dims.size();
  return n >= 2 && dims[n - 1] == dims[n - 2] && dims[n - 1] > 1 ? mask.tril() : mask;
}

/// As PyTorch's modules draw theirs.
at::Tensor drawn_as_modules(const std::vector<std::int64_t>& dims, at::ScalarType type,
                            const network::InitialWeight& weight, at::Generator& generator) {
  if (type == at::kBool) return drawn_mask(dims);
  if (!at::isFloatingType(type)) return at::zeros(dims, at::TensorOptions().dtype(type));
  at::Tensor made = at::empty(dims, at::kFloat);
  switch (weight.kind) {
    case network::InitialWeight::Kind::uniform:
      made.uniform_(-weight.spread, weight.spread, generator);
      break;
    case network::InitialWeight::Kind::constant: made.fill_(weight.value); break;
    case network::InitialWeight::Kind::normal:
    case network::InitialWeight::Kind::other: made.normal_(0, weight.spread, generator); break;
  }
  return made.to(type);
}

at::Tensor drawn(const std::vector<std::int64_t>& dims, at::ScalarType type, Drawing drawing,
                 at::Generator& generator) {
  if (type == at::kBool) return drawn_mask(dims);
  const auto options = at::TensorOptions().dtype(type);
  if (drawing == Drawing::positions && !at::isFloatingType(type))
    return at::arange(dims.back(), options).expand(dims).contiguous();
  if (!at::isFloatingType(type) || drawing == Drawing::zeros) return at::zeros(dims, options);
  if (drawing == Drawing::ones) return at::ones(dims, options);
  std::int64_t fan_in = 1;
  for (std::size_t i = dims.size() > 1 ? 1 : 0; i < dims.size(); ++i)
    fan_in *= std::max<std::int64_t>(1, dims[i]);
  const double bound = std::sqrt(3.0 / static_cast<double>(fan_in));
  return at::empty(dims, at::kFloat).uniform_(-bound, bound, generator).to(type);
}

using Locations = std::unordered_map<std::size_t, const job::WeightLocation*>;  // by tensor
Locations locations(const job::Job& job) {
  Locations out;
  for (const job::WeightLocation& w : job.weights) out[index(w.tensor)] = &w;
  return out;
}

class WeightReader {
 public:
  WeightReader(const job::Job& job, const network::Shapes& shapes)
      : job_(job),
        shapes_(shapes),
        generator_(at::detail::createCPUGenerator(job.execution.seed)),
        located_(locations(job)) {
    if (job.random_weights) drawings_ = drawings(job.network);
    if (job.random_weights && job.learning.framework_weights)
      initial_weights_ = network::initial_weights(job.network);
  }

  Result<at::Tensor> read(TensorId id) {
    const DataType declared = job_.network.tensor(id).type;
    const auto type = scalar_type(declared == DataType::undefined ? shapes_.type(id) : declared);
    if (!type)
      return fail("the weight '{}' has the type {}, which this LibTorch does not have",
                  job_.network.name_of(id), network::name(shapes_.type(id)));
    Result<std::vector<std::int64_t>> dims = extents(job_.network, shapes_, id);
    if (!dims) return std::unexpected(std::move(dims).error());
    const auto it = located_.find(index(id));
    if (it != located_.end()) return from_file(*it->second, *dims, *type);
    if (shapes_.at(id).has_value) return from_value(id, *dims, *type);
    if (!job_.random_weights)
      return std::unexpected(Error{
          .message = fmt::format("the contents of the weight '{}' are missing", job_.network.name_of(id)),
          .hint = "give the file that holds them, or ask for random weights (--random-weights)"});
    if (!initial_weights_.empty() && drawings_[index(id)] != Drawing::positions)
      return drawn_as_modules(*dims, *type, initial_weights_[index(id)], generator_);
    return drawn(*dims, *type, drawings_[index(id)], generator_);
  }

 private:
  Result<at::Tensor> from_file(const job::WeightLocation& where, const std::vector<std::int64_t>& dims,
                               at::ScalarType type) {
    Result<std::span<const std::byte>> bytes = file(where.file);
    if (!bytes) return std::unexpected(std::move(bytes).error());
    at::Tensor made = at::empty(dims, at::TensorOptions().dtype(type));
    const auto wanted = static_cast<std::int64_t>(made.nbytes());
    const auto size = static_cast<std::int64_t>(bytes->size());
    if (where.bytes != wanted || where.offset < 0 || where.offset > size - wanted)
      return fail("the weight '{}' takes {} bytes; at byte {} of {} there are {}",
                  job_.network.name_of(where.tensor), wanted, where.offset, job_.files[where.file],
                  where.bytes);
    if (wanted > 0)
      std::memcpy(made.data_ptr(), bytes->data() + where.offset, static_cast<std::size_t>(wanted));
    return made;
  }

  /// A small constant whose contents the network itself knows.
  Result<at::Tensor> from_value(TensorId id, const std::vector<std::int64_t>& dims, at::ScalarType type) {
    const auto value = shapes_.value(id);
    at::Tensor made = at::empty({static_cast<std::int64_t>(value.size())}, at::kDouble);
    for (std::size_t i = 0; i < value.size(); ++i) made.data_ptr<double>()[i] = value[i].real();
    return made.to(type).reshape(dims);
  }

  Result<std::span<const std::byte>> file(std::uint32_t number) {
    if (number >= job_.files.size()) return fail("the job names no file {}", number);
    if (const auto it = mapped_.find(number); it != mapped_.end()) return it->second.bytes();
    Result<MappedFile> opened = MappedFile::open(job_.files[number]);
    if (!opened) return std::unexpected(std::move(opened).error());
    return mapped_.emplace(number, std::move(*opened)).first->second.bytes();
  }

  const job::Job& job_;
  const network::Shapes& shapes_;
  at::Generator generator_;
  Locations located_;
  std::vector<Drawing> drawings_;
  std::vector<network::InitialWeight> initial_weights_;  ///< by tensor, where they are asked for
  std::unordered_map<std::uint32_t, MappedFile> mapped_;
};

bool is_trained(const job::Job& job, TensorId id) {
  const network::Tensor& tensor = job.network.tensor(id);
  if (tensor.role != Role::parameter) return false;
  const std::string_view name = job.network.name_of(id);
  return std::ranges::none_of(job.setting.frozen,
                              [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace

Result<std::vector<HostWeight>> read_weights(const job::Job& job, const Routine& routine,
                                             const network::Shapes& shapes) {
  WeightReader reader(job, shapes);
  std::vector<HostWeight> weights;
  for (const TensorId id : routine.weights) {
    Result<at::Tensor> contents = reader.read(id);
    if (!contents) return std::unexpected(std::move(contents).error());
    weights.push_back({id, std::move(*contents)});
  }
  return weights;
}

void place_weights(std::vector<HostWeight> weights, const job::Job& job, Executor& executor,
                   PlacedWeights& placed) {
  const Routine& routine = executor.routine();
  // What is learned or folded is a model's own.
  const bool changes = job.setting.mode != network::Mode::infer || job.setting.fold;
  const auto located = locations(job);
  for (HostWeight& w : weights) {
    at::Tensor contents = std::move(w.contents);
    const at::ScalarType type = routine.numbers.stored(contents.scalar_type());
    const bool turned =
        std::ranges::find(routine.turned, w.tensor) != routine.turned.end() && contents.dim() == 2;
    at::Tensor own;
    const auto where = located.find(index(w.tensor));
    at::Tensor& held =
        changes || where == located.end()
            ? own
            : placed[fmt::format("{}:{}:{}:{}:{}:{}", job.files[where->second->file], where->second->offset,
                                 fmt::join(contents.sizes(), "x"), static_cast<int>(type), turned,
                                 static_cast<int>(job.setting.layout))];
    if (!held.defined()) {
      if (contents.scalar_type() != type) contents = contents.to(type);
      if (turned) contents = contents.t().contiguous().t();
      if (job.setting.layout == network::Layout::channels_last && contents.dim() == 4)
        contents = contents.contiguous(at::MemoryFormat::ChannelsLast);
      if (!executor.device().is_cpu()) contents = contents.to(executor.device());
      const bool learned = job.network.tensor(w.tensor).role == Role::parameter;
      if (learned && at::isFloatingType(contents.scalar_type()) && is_trained(job, w.tensor))
        contents.requires_grad_(true);
      held = std::move(contents);
    }
    executor.keep(w.tensor, held);
  }
}

std::vector<at::Tensor> trained_parameters(const job::Job& job, const Executor& executor,
                                           std::vector<std::string>* names) {
  std::vector<at::Tensor> found;
  for (const TensorId id : executor.routine().weights) {
    const at::Tensor& tensor = executor.kept(id);
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    found.push_back(tensor);
    if (names != nullptr) names->emplace_back(job.network.name_of(id));
  }
  return found;
}

namespace {

/// How many rows the table has that an input indexes, followed through operators that keep its contents.
std::int64_t rows_indexed(const network::Network& network, const network::Shapes& shapes, TensorId id,
                          int depth) {
  static constexpr std::string_view kPassing[] = {"Reshape",   "Cast",    "Identity",
                                                  "Unsqueeze", "Squeeze", "Flatten"};
  std::int64_t rows = 0;
  for (const network::Graph& graph : network.graphs)
    for (const network::Operator& op : graph.operators) {
      const auto inputs = network.inputs(op);
      const std::string_view type = network.type_of(op);
      if (type == "Gather" && inputs.size() > 1 && inputs[1] == id && shapes.ranked(inputs[0]) &&
          !shapes.dims(inputs[0]).empty() && shapes.dims(inputs[0])[0].exact()) {
        const std::int64_t n = shapes.dims(inputs[0])[0].value();
        rows = rows == 0 ? n : std::min(rows, n);
      }
      if (depth > 0 && !inputs.empty() && inputs[0] == id && !network.outputs(op).empty() &&
          std::ranges::find(kPassing, type) != std::end(kPassing)) {
        const std::int64_t n = rows_indexed(network, shapes, network.outputs(op)[0], depth - 1);
        if (n > 0) rows = rows == 0 ? n : std::min(rows, n);
      }
    }
  return rows;
}

}  // namespace

Result<GivenInputs> random_inputs(const job::Job& job, const network::Shapes& shapes, at::Device device) {
  at::Generator generator = at::detail::createCPUGenerator(job.execution.seed + 1);
  GivenInputs inputs;
  const Numbers numbers = numbers_of(job.setting.precision);
  for (const TensorId id : job.network.main().inputs) {
    if (job.network.tensor(id).role != Role::input) continue;  // a weight with a default in old files
    const auto type = scalar_type(shapes.type(id));
    if (!type)
      return fail("the input '{}' has the type {}, which this LibTorch does not have",
                  job.network.name_of(id), network::name(shapes.type(id)));
    Result<std::vector<std::int64_t>> dims = extents(job.network, shapes, id);
    if (!dims) return std::unexpected(std::move(dims).error());
    at::Tensor made;
    if (at::isFloatingType(*type)) {
      made = at::empty(*dims, at::kFloat).normal_(0, 1, generator).to(numbers.stored(*type));
    } else if (*type == at::kBool) {
      made = at::ones(*dims, at::kBool);
    } else {
      const std::int64_t rows = rows_indexed(job.network, shapes, id, 8);
      made = at::empty(*dims, at::kLong).random_(0, rows > 0 ? rows : 2, generator).to(*type);
    }
    if (job.setting.layout == network::Layout::channels_last && made.dim() == 4)
      made = made.contiguous(at::MemoryFormat::ChannelsLast);
    inputs.emplace_back(id, made.to(device));
  }
  return inputs;
}

}  // namespace plimsoll::engine
