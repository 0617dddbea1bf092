#include <algorithm>
#include <array>
#include <limits>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using network::GraphId;

Value value_of(Call& c, std::size_t input) {
  if (!c.has(input)) return {};
  if (c.is_sequence(input)) return {{}, c.sequence(input), true};
  return {c.where_it_lies(input)};
}

void give(Call& c, std::size_t output, Value value) {
  if (value.is_sequence)
    c.out_sequence(output, std::move(value.sequence));
  else
    c.out(output, std::move(value.tensor));
}

bool is_true(const Tensor& condition) {
  return condition.to(at::kCPU, at::kBool).item<bool>();
}

Result<GraphId> body_of(const Preparation& p, std::string_view name) {
  const auto graph = p.graph(name);
  if (!graph) return fail("its body '{}' is missing", name);
  return *graph;
}

Result<Kernel> prepare_if(const Preparation& p) {
  const Result<GraphId> yes = body_of(p, "then_branch"), no = body_of(p, "else_branch");
  PLIMSOLL_TRY(yes);
  PLIMSOLL_TRY(no);
  return [yes = *yes, no = *no](Call& c) {
    std::vector<Value> results = c.run_body(is_true(c.where_it_lies(0)) ? yes : no, {});
    for (std::size_t i = 0; i < results.size(); ++i) give(c, i, std::move(results[i]));
  };
}

/// Body: iteration, condition, what is carried -> condition, what is carried, what is collected.
struct Loop {
  GraphId body;
  std::size_t carried, collected;

  void operator()(Call& c) const {
    const std::int64_t trips = c.has(0) ? c.integers(0).at(0) : std::numeric_limits<std::int64_t>::max();
    bool goes_on = !c.has(1) || is_true(c.where_it_lies(1));
    std::vector<Value> state;
    for (std::size_t i = 0; i < carried; ++i) state.push_back(value_of(c, i + 2));
    std::vector<std::vector<Tensor>> rows(collected);
    for (std::int64_t trip = 0; trip < trips && goes_on; ++trip) {
      std::vector<Value> inputs = {{at::scalar_tensor(trip, at::TensorOptions(at::kLong))},
                                   {at::scalar_tensor(true, at::TensorOptions(at::kBool))}};
      inputs.insert(inputs.end(), std::make_move_iterator(state.begin()),
                    std::make_move_iterator(state.end()));
      std::vector<Value> results = c.run_body(body, inputs);
      goes_on = is_true(results.at(0).tensor);
      state.assign(std::make_move_iterator(results.begin() + 1),
                   std::make_move_iterator(results.begin() + 1 + static_cast<std::ptrdiff_t>(carried)));
      for (std::size_t i = 0; i < collected; ++i)
        rows[i].push_back(std::move(results.at(1 + carried + i).tensor));
    }
    for (std::size_t i = 0; i < carried; ++i) give(c, i, std::move(state[i]));
    for (std::size_t i = 0; i < collected; ++i) c.out(carried + i, stacked(rows[i]));
  }

  static Tensor stacked(const std::vector<Tensor>& rows) {
    // What a loop that never ran would have collected has no shape to speak of.
    return rows.empty() ? at::scalar_tensor(0.0).expand({0}) : at::stack(rows, 0);
  }
};

Result<Kernel> prepare_loop(const Preparation& p) {
  const Result<GraphId> body = body_of(p, "body");
  PLIMSOLL_TRY(body);
  const std::size_t carried = p.inputs() < 2 ? 0 : p.inputs() - 2;
  const std::size_t results = p.network().graph(*body).outputs.size();
  if (results < 1 + carried) return fail("its body gives {} values for {} that it carries", results, carried);
  return Loop{*body, carried, results - 1 - carried};
}

/// Where and in which direction a scanned input is read or a scanned output written.
struct Track {
  std::int64_t axis = 0;
  bool backward = false;
};

std::vector<Track> tracks_of(const Preparation& p, std::size_t count, std::string_view axes,
                             std::string_view directions) {
  const Integers axis = p.integers(axes), direction = p.integers(directions);
  std::vector<Track> tracks(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i < axis.size()) tracks[i].axis = axis[i];
    if (i < direction.size()) tracks[i].backward = direction[i] != 0;
  }
  return tracks;
}

struct Scanned {
  std::vector<Value> state;
  std::vector<std::vector<Tensor>> rows;  ///< per output, in the order of iteration
};

struct Scan {
  GraphId body;
  std::size_t carried;
  std::vector<Track> reads, writes;

  [[nodiscard]] Scanned run(Call& c, std::vector<Value> state, const std::vector<Tensor>& inputs) const {
    Scanned result{std::move(state), std::vector<std::vector<Tensor>>(writes.size())};
    const std::int64_t steps = inputs.empty() ? 0 : inputs.front().size(reads.front().axis);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<Value> given = std::move(result.state);
      for (std::size_t i = 0; i < reads.size(); ++i)
        given.push_back({inputs[i].select(reads[i].axis, reads[i].backward ? steps - 1 - step : step)});
      std::vector<Value> found = c.run_body(body, given);
      result.state.assign(std::make_move_iterator(found.begin()),
                          std::make_move_iterator(found.begin() + static_cast<std::ptrdiff_t>(carried)));
      for (std::size_t i = 0; i < writes.size(); ++i)
        result.rows[i].push_back(std::move(found.at(carried + i).tensor));
    }
    return result;
  }

  [[nodiscard]] Tensor written(std::vector<Tensor> rows, const Track& track) const {
    if (track.backward) std::ranges::reverse(rows);
    return at::stack(rows, track.axis);
  }

  void operator()(Call& c) const {
    std::vector<Value> state;
    for (std::size_t i = 0; i < carried; ++i) state.push_back(value_of(c, i));
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < reads.size(); ++i) inputs.push_back(c.in(carried + i));
    Scanned result = run(c, std::move(state), inputs);
    for (std::size_t i = 0; i < carried; ++i) give(c, i, std::move(result.state[i]));
    for (std::size_t i = 0; i < writes.size(); ++i)
      c.out(carried + i, written(std::move(result.rows[i]), writes[i]));
  }
};

/// Operator set 8: inputs have a batch in front, each of whose entries is scanned by itself.
struct BatchedScan {
  Scan scan;

  void operator()(Call& c) const {
    const std::size_t inputs = scan.carried + scan.reads.size();
    const std::int64_t batch = c.in(1).size(0);
    std::vector<std::vector<Tensor>> results(scan.carried + scan.writes.size());
    for (std::int64_t b = 0; b < batch; ++b) {
      std::vector<Value> state;
      std::vector<Tensor> rows;
      for (std::size_t i = 0; i < inputs; ++i) {
        const Tensor own = c.in(i + 1).select(0, b);
        if (i < scan.carried)
          state.push_back({own});
        else
          rows.push_back(own);
      }
      Scanned result = scan.run(c, std::move(state), rows);
      for (std::size_t i = 0; i < results.size(); ++i)
        results[i].push_back(i < scan.carried ? result.state[i].tensor
                                              : scan.written(std::move(result.rows[i - scan.carried]),
                                                             scan.writes[i - scan.carried]));
    }
    for (std::size_t i = 0; i < results.size(); ++i) c.out(i, at::stack(results[i], 0));
  }
};

Result<Kernel> prepare_scan(const Preparation& p) {
  const Result<GraphId> body = body_of(p, "body");
  PLIMSOLL_TRY(body);
  const bool batched = p.opset() < 9;
  if (batched && p.has(0)) return fail("Scan with lengths of sequences cannot be executed");
  const auto scanned = static_cast<std::size_t>(std::max<std::int64_t>(0, p.integer("num_scan_inputs", 0)));
  const std::size_t inputs = p.inputs() - (batched ? 1 : 0);
  if (scanned == 0 || scanned > inputs) return fail("num_scan_inputs is {} of {} inputs", scanned, inputs);
  const std::size_t carried = inputs - scanned, results = p.network().graph(*body).outputs.size();
  if (results < carried) return fail("its body gives {} values for {} that it carries", results, carried);
  Scan scan{*body, carried,
            tracks_of(p, scanned, "scan_input_axes", batched ? "directions" : "scan_input_directions"),
            tracks_of(p, results - carried, "scan_output_axes", "scan_output_directions")};
  if (batched) return BatchedScan{std::move(scan)};
  return scan;
}

constexpr auto kControlRows = std::to_array<OperatorRow>({
    {"If", prepare_if},
    {"Loop", prepare_loop},
    {"Scan", prepare_scan},
});

}  // namespace

std::span<const OperatorRow> control_rows() {
  return kControlRows;
}

}  // namespace plimsoll::engine
