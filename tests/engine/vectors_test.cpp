// ONNX's own test vectors (Debian's libonnx-testdata) through the engine: what its operators compute against
// what ONNX says they must.
#include <algorithm>
#include <map>
#include <set>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "case_file.hpp"
#include "engine/executor.hpp"
#include "known_failures.hpp"
#include "onnx/reader.hpp"
#include "stored_weights.hpp"

namespace plimsoll {
namespace {

using engine::Value;
using network::Network;
using network::TensorId;

constexpr std::string_view kFolder = "/usr/include/onnx/backend/test/data";
constexpr std::string_view kKinds[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
constexpr double kLeastRight = 0.95;
constexpr std::uint64_t kSeed = 0;
constexpr double kRelative = 1e-3, kAbsolute = 1e-5;  // as ONNX's own runner, or tighter

/// Operators anywhere in the network that the engine does not claim to execute.
std::set<std::string> not_claimed(const Network& n) {
  std::set<std::string> out;
  for (const network::Graph& g : n.graphs)
    for (const network::Operator& op : g.operators)
      if (engine::find_row(n.domain_of(op), n.type_of(op)) == nullptr)
        out.insert(op.domain.count == 0 ? std::string(n.type_of(op))
                                        : fmt::format("{}.{}", n.domain_of(op), n.type_of(op)));
  return out;
}

/// Statistics of the batch are what such a graph's outputs were made with.
bool trains(const Network& n) {
  return std::ranges::any_of(n.main().operators, [&n](const network::Operator& op) {
    const network::Attribute* a = n.find(op, "training_mode");
    return n.type_of(op) == "BatchNormalization" && a != nullptr && a->integer == 1;
  });
}

network::Inferred described(const Value& value) {
  network::Inferred out;
  out.kind = value.is_sequence ? network::ValueKind::sequence : network::ValueKind::optional;
  out.length = network::Dim::of(static_cast<std::int64_t>(value.sequence.size()));
  const at::Tensor first =
      value.is_sequence && !value.sequence.empty() ? value.sequence.front() : value.tensor;
  if (first.defined()) out.type = engine::data_type(first.scalar_type()).value_or(out.type);
  return out;
}

/// The files of one data set.
struct DataSet {
  std::vector<std::pair<TensorId, Value>> inputs;
  std::vector<Value> outputs;
  network::Binding binding;
  network::InferOptions options;
};

Result<DataSet> read_data(const std::filesystem::path& folder, const Declarations& declared,
                          const Network& n) {
  DataSet data;
  Result<network::Binding> binding = network::bind(n, {});
  PLIMSOLL_TRY(binding);
  data.binding = std::move(*binding);
  for (std::size_t i = 0; i < declared.inputs.size(); ++i) {
    const auto id = std::ranges::find(n.main().inputs, declared.inputs[i].name,
                                      [&n](TensorId t) { return n.name_of(t); });
    const std::filesystem::path file = folder / fmt::format("input_{}.pb", i);
    if (id == n.main().inputs.end() || !std::filesystem::exists(file)) continue;
    Result<Value> value = read_value(file, declared.inputs[i]);
    PLIMSOLL_TRY(value);
    if (declared.inputs[i].form == onnx::ValueInfo::Form::tensor)
      data.binding.inputs.push_back({*id, value->tensor.sizes().vec()});
    else
      data.options.given_inputs.push_back({*id, described(*value)});
    data.inputs.emplace_back(*id, std::move(*value));
  }
  for (std::size_t i = 0; i < declared.outputs.size(); ++i) {
    Result<Value> value = read_value(folder / fmt::format("output_{}.pb", i), declared.outputs[i]);
    PLIMSOLL_TRY(value);
    data.outputs.push_back(std::move(*value));
  }
  return data;
}

Status compare(const at::Tensor& found, const at::Tensor& truth) {
  if (found.defined() != truth.defined()) return fail("contents where there are none, or none");
  if (!truth.defined()) return {};
  if (found.scalar_type() != truth.scalar_type())
    return fail("type {} instead of {}", toString(found.scalar_type()), toString(truth.scalar_type()));
  if (found.sizes() != truth.sizes())
    return fail("shape {} instead of {}", fmt::join(found.sizes(), "x"), fmt::join(truth.sizes(), "x"));
  const bool complex = truth.is_complex();
  const auto wide = [complex](const at::Tensor& t) {
    return t.to(complex ? at::kComplexDouble : at::kDouble);
  };
  if (at::allclose(wide(found), wide(truth), kRelative, kAbsolute, true)) return {};
  return fail("numbers differ by up to {:.3g}", wide(found).sub(wide(truth)).abs().max().item<double>());
}

Status compare(const Value& found, const Value& truth) {
  if (found.is_sequence != truth.is_sequence) return fail("a tensor instead of a sequence, or the reverse");
  if (!truth.is_sequence) return compare(found.tensor, truth.tensor);
  if (found.sequence.size() != truth.sequence.size())
    return fail("{} elements instead of {}", found.sequence.size(), truth.sequence.size());
  for (std::size_t i = 0; i < truth.sequence.size(); ++i)
    PLIMSOLL_TRY(compare(found.sequence[i], truth.sequence[i]));
  return {};
}

Status run_data(onnx::Model& model, DataSet data, bool literal) {
  const Result<network::Shapes> shapes = network::infer(model.network, data.binding, data.options);
  PLIMSOLL_TRY(shapes);
  network::Setting setting;
  setting.literal = literal;
  setting.mode = trains(model.network) ? network::Mode::train : network::Mode::infer;
  std::vector<engine::Unexecutable> missing;
  Result<engine::Routine> routine = engine::make_routine(model.network, *shapes, setting, missing);
  PLIMSOLL_TRY(routine);
  if (!missing.empty()) return fail("{}: {}", missing.front().op, missing.front().reason);
  engine::Executor executor(std::move(*routine), at::kCPU);
  PLIMSOLL_TRY(load_weights(executor, model));
  std::vector<Value> found;
  try {
    for (auto& [id, value] : data.inputs) executor.value(id) = std::move(value);
    found = executor.run({});
  } catch (const std::exception& e) {
    const std::string_view text = e.what();
    return fail("{}: {}", executor.failed_at(), text.substr(0, text.find('\n')));
  }
  for (std::size_t i = 0; i < data.outputs.size(); ++i)
    if (const Status same = compare(found.at(i), data.outputs[i]); !same)
      return fail("output {}: {}", i, same.error().text());
  return {};
}

struct Outcome {
  Status status;
  std::set<std::string> not_claimed;
};

Outcome run_case(const std::filesystem::path& folder, bool literal) {
  Result<onnx::Model> model = onnx::read(folder / "model.onnx");
  if (!model) return {std::unexpected(model.error()), {}};
  Outcome out{{}, not_claimed(model->network)};
  if (!out.not_claimed.empty()) return out;
  const auto run = [&]() -> Status {
    const Result<Declarations> declared = read_declarations(folder / "model.onnx");
    PLIMSOLL_TRY(declared);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.path().filename().string().starts_with("test_data_set_")) continue;
      Result<DataSet> data = read_data(entry.path(), *declared, model->network);
      PLIMSOLL_TRY(data);
      PLIMSOLL_TRY(run_data(*model, std::move(*data), literal));
    }
    return {};
  };
  out.status = run();
  return out;
}

struct Tally {
  std::size_t cases = 0, passed = 0;
  std::map<std::string, std::size_t> unclaimed;
  std::map<std::string, std::string> failed;
};

Tally run_all(bool literal) {
  const at::NoGradGuard no_gradients;
  Tally tally;
  for (const std::string_view kind : kKinds)
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kFolder) / kind)) {
      if (!std::filesystem::exists(entry.path() / "model.onnx")) continue;
      ++tally.cases;
      at::manual_seed(kSeed);  // or what is drawn would depend on the order in which the folders are listed
      const Outcome outcome = run_case(entry.path(), literal);
      for (const std::string& op : outcome.not_claimed) ++tally.unclaimed[op];
      if (!outcome.not_claimed.empty()) continue;
      if (outcome.status)
        ++tally.passed;
      else
        tally.failed.emplace(entry.path().filename().string(), outcome.status.error().text());
    }
  return tally;
}

class EngineVectors : public testing::TestWithParam<bool> {};

TEST_P(EngineVectors, AgreeWithOnnx) {
  if (!std::filesystem::exists(kFolder))
    GTEST_SKIP() << "no test vectors at " << kFolder << ": apt install libonnx-testdata";
  const Tally tally = run_all(GetParam());
  const std::size_t claimed = tally.passed + tally.failed.size();
  fmt::print("ONNX test vectors: {} cases, {} of operators that the engine claims; {} pass ({:.1f} %)\n",
             tally.cases, claimed, tally.passed,
             100.0 * static_cast<double>(tally.passed) / static_cast<double>(claimed));
  fmt::print("  not claimed: {}\n", fmt::join(tally.unclaimed, ", "));
  std::size_t known = 0;
  for (const auto& [name, reason] : tally.failed) {
    const auto* expected = std::ranges::find(kKnownFailures, name, &KnownFailure::name);
    if (expected == std::end(kKnownFailures)) {
      ADD_FAILURE() << name << ": " << reason;
      continue;
    }
    ++known;
    fmt::print("  {}: {}\n", name, expected->reason);
  }
  EXPECT_EQ(known, std::size(kKnownFailures))
      << "some that were known to fail now pass: take them off the list";
  EXPECT_GE(static_cast<double>(tally.passed), kLeastRight * static_cast<double>(claimed));
}

INSTANTIATE_TEST_SUITE_P(, EngineVectors, testing::Values(true, false), [](const auto& given) {
  return given.param ? "EveryOperatorByItself" : "WithRecognisedKernels";
});

}  // namespace
}  // namespace plimsoll
