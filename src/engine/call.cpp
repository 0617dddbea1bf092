#include "engine/call.hpp"

#include <algorithm>
#include <ranges>

#include <ATen/ops/_local_scalar_dense.h>

namespace plimsoll::engine {

using network::DataType;

namespace {

struct TypePair {
  DataType data;
  at::ScalarType scalar;
};
constexpr TypePair kTypes[] = {
    {DataType::float32, at::kFloat},
    {DataType::uint8, at::kByte},
    {DataType::int8, at::kChar},
    {DataType::int16, at::kShort},
    {DataType::int32, at::kInt},
    {DataType::int64, at::kLong},
    {DataType::boolean, at::kBool},
    {DataType::float16, at::kHalf},
    {DataType::float64, at::kDouble},
    {DataType::complex64, at::kComplexFloat},
    {DataType::complex128, at::kComplexDouble},
    {DataType::bfloat16, at::kBFloat16},
};

}  // namespace

std::optional<at::ScalarType> scalar_type(DataType type) {
  const auto found = std::ranges::find(kTypes, type, &TypePair::data);
  return found == std::end(kTypes) ? std::nullopt : std::optional(found->scalar);
}

std::optional<DataType> data_type(at::ScalarType type) {
  const auto found = std::ranges::find(kTypes, type, &TypePair::scalar);
  return found == std::end(kTypes) ? std::nullopt : std::optional(found->data);
}

bool Preparation::has(std::size_t input) const {
  const auto inputs = network_.inputs(op_);
  return input < inputs.size() && inputs[input] != network::kNoTensor;
}

bool Preparation::wants(std::size_t output) const {
  const auto outputs = network_.outputs(op_);
  return output < outputs.size() && outputs[output] != network::kNoTensor;
}

DataType Preparation::type(std::size_t input) const {
  return has(input) ? shapes_.type(network_.inputs(op_)[input]) : DataType::undefined;
}

std::optional<std::size_t> Preparation::rank(std::size_t input) const {
  if (!has(input)) return std::nullopt;
  const network::TensorId id = network_.inputs(op_)[input];
  return shapes_.ranked(id) ? std::optional(shapes_.dims(id).size()) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> Preparation::known_integers(std::size_t input) const {
  if (!has(input) || !shapes_.at(network_.inputs(op_)[input]).has_value) return std::nullopt;
  std::vector<std::int64_t> known;
  for (const network::Scalar& s : shapes_.value(network_.inputs(op_)[input])) {
    if (!s.is_integer()) return std::nullopt;
    known.push_back(s.integer());
  }
  return known;
}

std::optional<std::vector<double>> Preparation::known_numbers(std::size_t input) const {
  if (!has(input) || !shapes_.at(network_.inputs(op_)[input]).has_value) return std::nullopt;
  std::vector<double> known;
  for (const network::Scalar& s : shapes_.value(network_.inputs(op_)[input])) {
    if (s.is_symbol()) return std::nullopt;
    known.push_back(s.real());
  }
  return known;
}

bool Preparation::has_attribute(std::string_view name) const {
  return network_.find(op_, name) != nullptr;
}

std::int64_t Preparation::integer(std::string_view name, std::int64_t otherwise) const {
  const network::Attribute* a = network_.find(op_, name);
  return a == nullptr ? otherwise : a->integer;
}

double Preparation::real(std::string_view name, double otherwise) const {
  const network::Attribute* a = network_.find(op_, name);
  return a == nullptr ? otherwise : a->real;
}

std::string_view Preparation::text(std::string_view name, std::string_view otherwise) const {
  const network::Attribute* a = network_.find(op_, name);
  return a == nullptr ? otherwise : network_.view(a->list);
}

std::vector<std::int64_t> Preparation::integers(std::string_view name) const {
  const network::Attribute* a = network_.find(op_, name);
  if (a == nullptr) return {};
  const auto list = network_.integers_of(*a);
  return {list.begin(), list.end()};
}

std::vector<double> Preparation::reals(std::string_view name) const {
  const network::Attribute* a = network_.find(op_, name);
  if (a == nullptr) return {};
  const auto list = network_.reals_of(*a);
  return {list.begin(), list.end()};
}

std::vector<std::string_view> Preparation::texts(std::string_view name) const {
  const network::Attribute* a = network_.find(op_, name);
  std::vector<std::string_view> found;
  if (a != nullptr)
    for (std::uint32_t i = 0; i < a->list.count; ++i)
      found.push_back(network_.view(network_.ranges[a->list.begin + i]));
  return found;
}

std::optional<network::GraphId> Preparation::graph(std::string_view name) const {
  const network::Attribute* a = network_.find(op_, name);
  if (a == nullptr || a->kind != network::Attribute::Kind::graph) return std::nullopt;
  return static_cast<network::GraphId>(a->integer);
}

std::vector<std::int64_t> Call::integers(std::size_t input) {
  const at::Tensor host = where_it_lies(input).to(at::kCPU, at::kLong).contiguous();
  const auto* first = host.data_ptr<std::int64_t>();
  return {first, first + host.numel()};
}

double Call::number(std::size_t input) {
  return where_it_lies(input).to(at::kDouble).item<double>();
}

const OperatorRow* find_row(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  const auto rows = operator_rows();
  const auto key = [](const OperatorRow& r) { return std::pair(r.domain, r.name); };
  const auto it = std::ranges::lower_bound(rows, std::pair(domain, name), {}, key);
  return it != rows.end() && key(*it) == std::pair(domain, name) ? &*it : nullptr;
}

}  // namespace plimsoll::engine
