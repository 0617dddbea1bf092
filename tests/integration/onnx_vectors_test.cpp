// ONNX's own test vectors, one operator each: what inference says of every output against the output that
// ONNX computed. From Debian's libonnx-testdata.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "onnx/reader.hpp"
#include "onnx/tensor_proto.hpp"
#include "onnx/value_info.hpp"
#include "onnx/wire.hpp"

namespace plimsoll {
namespace {

using namespace network;
using onnx::bytes_field;
using onnx::Fields;
using onnx::ValueInfo;
using onnx::varint_field;

constexpr std::string_view kFolder = "/usr/include/onnx/backend/test/data/node";
constexpr double kLeastRight = 0.90;

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A value as the files hold it: a tensor, or the tensors of a sequence or optional.
struct Value {
  struct Part {
    DataType type = DataType::undefined;
    std::vector<std::int64_t> dims;
    std::vector<Scalar> contents;
    bool has_contents = false;
  };
  ValueKind kind = ValueKind::tensor;
  std::vector<Part> parts;

  [[nodiscard]] bool alike() const {
    return std::ranges::all_of(parts, [this](const Part& p) { return p.dims == parts.front().dims; });
  }
};

Result<Value::Part> read_tensor(std::string_view message) {
  const Result<onnx::StoredTensor> stored = onnx::decode_tensor(message);
  PLIMSOLL_TRY(stored);
  Value::Part part;
  part.type = stored->type;
  for (const Dim d : stored->dims.dims()) part.dims.push_back(d.value());
  const Result<bool> known = onnx::decode_values(*stored, part.contents);
  PLIMSOLL_TRY(known);
  part.has_contents = *known;
  return part;
}

/// `message` is a TensorProto, SequenceProto or OptionalProto, as the model's declaration says. Tensors stand
/// in field 3 of the latter two, a sequence in field 5 of an optional.
Result<Value> read_parts(std::string_view message, ValueInfo::Form form) {
  Value value;
  if (form == ValueInfo::Form::tensor) {
    Result<Value::Part> part = read_tensor(message);
    PLIMSOLL_TRY(part);
    value.parts.push_back(std::move(*part));
    return value;
  }
  value.kind = form == ValueInfo::Form::sequence ? ValueKind::sequence : ValueKind::optional;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(3)) {
      Result<Value::Part> part = read_tensor(f.bytes());
      PLIMSOLL_TRY(part);
      value.parts.push_back(std::move(*part));
    } else if (f.key() == bytes_field(5)) {
      return read_parts(f.bytes(), ValueInfo::Form::sequence);
    }
  }
  return value;
}

struct Declared {
  struct Item {
    std::string name;
    ValueInfo::Form form;
    DataType type;
  };
  std::vector<Item> inputs, outputs;
};

Result<Value> read_value(const std::filesystem::path& file, const Declared::Item& declared) {
  const std::string message = contents(file);
  Result<Value> value = read_parts(message, declared.form);
  PLIMSOLL_TRY(value);
  // numpy has no bfloat16: the generator stored such tensors as uint16.
  for (Value::Part& part : value->parts)
    if (declared.type == DataType::bfloat16 && part.type == DataType::uint16) part.type = DataType::bfloat16;
  return value;
}

/// ModelProto.graph is field 7; GraphProto.input 11, .output 12.
Result<Declared> read_declared(std::string_view model) {
  Declared out;
  for (Fields m(model); m.next();) {
    if (m.key() != bytes_field(7)) continue;
    for (Fields g(m.bytes()); g.next();) {
      if (g.key() != bytes_field(11) && g.key() != bytes_field(12)) continue;
      const Result<ValueInfo> info = onnx::decode_value_info(g.bytes());
      PLIMSOLL_TRY(info);
      (g.key() == bytes_field(11) ? out.inputs : out.outputs)
          .push_back({std::string(info->name), info->form, info->type});
    }
  }
  return out;
}

enum class Agreement { exact, within_bounds, wrong };

Agreement worse(Agreement a, Agreement b) {
  return std::max(a, b);
}

Agreement compare(const Symbols& symbols, Dim found, std::int64_t truth) {
  if (found.exact()) return found.value() == truth ? Agreement::exact : Agreement::wrong;
  const Interval bounds = symbols.bounds(found);
  return bounds.low <= truth && truth <= bounds.high ? Agreement::within_bounds : Agreement::wrong;
}

Agreement compare(const Shapes& shapes, TensorId id, const Value::Part& truth) {
  if (shapes.type(id) != truth.type || !shapes.ranked(id) || shapes.dims(id).size() != truth.dims.size())
    return Agreement::wrong;
  Agreement agreement = Agreement::exact;
  for (std::size_t i = 0; i < truth.dims.size(); ++i)
    agreement = worse(agreement, compare(shapes.symbols(), shapes.dims(id)[i], truth.dims[i]));
  return agreement;
}

Agreement compare(const Shapes& shapes, TensorId id, const Value& truth) {
  const Shapes::Entry& entry = shapes.at(id);
  if (entry.kind != truth.kind) return Agreement::wrong;
  if (truth.kind == ValueKind::tensor) return compare(shapes, id, truth.parts.front());
  Agreement agreement = Agreement::exact;
  if (truth.kind == ValueKind::sequence)
    agreement = compare(shapes.symbols(), entry.length, static_cast<std::int64_t>(truth.parts.size()));
  if (truth.parts.empty()) return agreement;
  // Elements that differ have a type in common and no shape, or one whose bounds hold each of them.
  if (!entry.ranked)
    return entry.type != truth.parts.front().type ? Agreement::wrong
           : truth.alike()                        ? worse(agreement, Agreement::within_bounds)
                                                  : agreement;
  for (const Value::Part& part : truth.parts) agreement = worse(agreement, compare(shapes, id, part));
  return agreement;
}

std::string show(const Shapes& shapes, TensorId id) {
  return fmt::format("{} {}", name(shapes.type(id)), shapes.text(id));
}

std::string show(const Value& value) {
  std::vector<std::string> parts;
  for (const Value::Part& p : value.parts)
    parts.push_back(fmt::format("{} {}", name(p.type),
                                p.dims.empty() ? "scalar" : fmt::format("{}", fmt::join(p.dims, "x"))));
  return fmt::format("{}[{}]",
                     value.kind == ValueKind::tensor     ? ""
                     : value.kind == ValueKind::sequence ? "sequence"
                                                         : "optional",
                     fmt::join(parts, ", "));
}

/// Operators anywhere in the network that have no rule.
std::set<std::string> without_rule(const Network& n) {
  std::set<std::string> out;
  for (const Graph& g : n.graphs)
    for (const Operator& op : g.operators)
      if (op.kind == kUnknownKind || info(op.kind).infer == nullptr)
        out.insert(op.domain.count == 0 ? std::string(n.type_of(op))
                                        : fmt::format("{}.{}", n.domain_of(op), n.type_of(op)));
  return out;
}

struct Outcome {
  Agreement agreement = Agreement::wrong;
  std::string reason;
  std::set<std::string> without_rule;
};

/// A sequence or optional as inference describes one.
Inferred described(const Value& value) {
  Inferred out;
  out.kind = value.kind;
  out.length = Dim::of(static_cast<std::int64_t>(value.parts.size()));
  if (value.parts.empty()) return out;
  out.type = value.parts.front().type;
  out.ranked = value.alike();
  if (out.ranked)
    for (const std::int64_t d : value.parts.front().dims) out.shape.push_back(Dim::of(d));
  return out;
}

/// What the case's input files say, as inference takes it.
Status feed(const Declared& declared, const std::filesystem::path& data, const Network& n, Binding& binding,
            InferOptions& options) {
  for (std::size_t i = 0; i < declared.inputs.size(); ++i) {
    const auto id = std::ranges::find(n.main().inputs, declared.inputs[i].name,
                                      [&n](TensorId t) { return n.name_of(t); });
    const std::filesystem::path file = data / fmt::format("input_{}.pb", i);
    if (id == n.main().inputs.end() || !std::filesystem::exists(file)) continue;
    Result<Value> value = read_value(file, declared.inputs[i]);
    PLIMSOLL_TRY(value);
    if (value->kind != ValueKind::tensor) {
      options.given_inputs.push_back({*id, described(*value)});
      continue;
    }
    Value::Part& part = value->parts.front();
    binding.inputs.push_back({*id, part.dims});
    if (part.has_contents) options.known_inputs.push_back({*id, std::move(part.contents)});
  }
  return {};
}

Outcome run_case(const std::filesystem::path& folder) {
  Outcome out;
  const auto wrong = [&out](const Error& error) {
    out.agreement = Agreement::wrong;
    out.reason = error.text();
    return out;
  };
  const Result<onnx::Model> model = onnx::read(folder / "model.onnx");
  if (!model) return wrong(model.error());
  const Network& n = model->network;
  out.without_rule = without_rule(n);
  const Result<Declared> declared = read_declared(contents(folder / "model.onnx"));
  if (!declared) return wrong(declared.error());
  const std::filesystem::path data = folder / "test_data_set_0";
  Result<Binding> binding = bind(n, {});
  if (!binding) return wrong(binding.error());
  InferOptions options;
  options.allow_unknown_operators = true;
  if (const Status fed = feed(*declared, data, n, *binding, options); !fed) return wrong(fed.error());
  const Result<Shapes> shapes = infer(n, *binding, options);
  if (!shapes) return wrong(shapes.error());

  out.agreement = Agreement::exact;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < declared->outputs.size(); ++i) {
    const std::filesystem::path file = data / fmt::format("output_{}.pb", i);
    if (!std::filesystem::exists(file)) continue;
    const Result<Value> truth = read_value(file, declared->outputs[i]);
    if (!truth) return wrong(truth.error());
    const TensorId id = n.main().outputs[i];
    const Agreement agreement = compare(*shapes, id, *truth);
    if (agreement == Agreement::wrong)
      out.reason += fmt::format("output {}: found {}, is {}; ", i, show(*shapes, id), show(*truth));
    out.agreement = worse(out.agreement, agreement);
    ++compared;
  }
  if (compared == 0) return wrong(Error{"there is no output to compare with"});
  return out;
}

TEST(OnnxVectors, ShapesAndTypesOfEveryNodeCase) {
  if (!std::filesystem::exists(kFolder))
    GTEST_SKIP() << "no test vectors at " << kFolder << ": apt install libonnx-testdata";
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.insert(entry.path());

  std::size_t exact = 0, within = 0, unruled = 0;
  std::set<std::string> operators;
  std::vector<std::string> bounded;
  std::map<std::string, std::string> wrong;
  for (const auto& folder : folders) {
    const Outcome outcome = run_case(folder);
    if (outcome.agreement == Agreement::exact) {
      ++exact;
    } else if (outcome.agreement == Agreement::within_bounds) {
      ++within;
      bounded.push_back(folder.filename().string());
    } else if (!outcome.without_rule.empty()) {
      ++unruled;
      operators.insert(outcome.without_rule.begin(), outcome.without_rule.end());
    } else {
      wrong.emplace(folder.filename().string(), outcome.reason);
    }
  }
  fmt::print(
      "ONNX node test vectors: {} cases\n  exact                   {}\n  within stated bounds    {} ({})\n"
      "  operator without a rule {} ({})\n  wrong                   {}\n",
      folders.size(), exact, within, fmt::join(bounded, ", "), unruled, fmt::join(operators, ", "),
      wrong.size());
  for (const auto& [name, reason] : wrong) fmt::print("    {}: {}\n", name, reason);
  EXPECT_TRUE(wrong.empty());
  EXPECT_GE(static_cast<double>(exact + within), kLeastRight * static_cast<double>(folders.size()));
}

}  // namespace
}  // namespace plimsoll
