#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/inspection.hpp"
#include "report/stored_weights.hpp"

namespace plimsoll::report {
namespace {

using program::Coverage;
using program::OperatorCount;
using Json = nlohmann::ordered_json;

Json number(std::int64_t n) {
  return n == network::kUnbounded ? Json(nullptr) : Json(n);
}

Json shape(const network::Shapes& shapes, network::TensorId id) {
  if (!shapes.ranked(id)) return nullptr;
  Json out = Json::array();
  for (const network::Dim d : shapes.dims(id)) {
    if (d.exact())
      out.push_back(d.value());
    else
      out.push_back(printable(shapes.symbols().text(d)));
  }
  return out;
}

Json tensors(const Inspection& i, const std::vector<network::TensorId>& ids) {
  Json out = Json::array();
  for (const network::TensorId id : ids)
    out.push_back({{"name", printable(i.network.name_of(id))},
                   {"type", network::name(i.shapes.type(id))},
                   {"shape", shape(i.shapes, id)}});
  return out;
}

void put_work(Json& out, const program::Work& w) {
  out["macs"] = number(w.macs.high);
  out["flops"] = number(w.flops.high);
  out["bytes_read"] = number(w.bytes_read.high);
  out["bytes_written"] = number(w.bytes_written.high);
  // Only where the data decides: the figures above are then the upper bounds.
  if (w.macs.low != w.macs.high) out["macs_low"] = number(w.macs.low);
  if (w.flops.low != w.flops.high) out["flops_low"] = number(w.flops.low);
}

Json bindings(const Inspection& i) {
  Json out = Json::array();
  for (const network::BoundSymbol& s : i.shapes.bound())
    out.push_back({{"name", printable(s.name)}, {"value", s.value}, {"assumed", s.assumed}});
  return out;
}

/// Extents that the data decides, and those computed from them: what `output_shape` may name.
Json unknowns(const Inspection& i) {
  Json out = Json::array();
  const network::Symbols& symbols = i.shapes.symbols();
  for (std::size_t n = 0; n < symbols.size(); ++n) {
    const network::Symbol& s = symbols.at(static_cast<network::SymbolId>(n));
    if (s.origin == network::Symbol::Origin::declared) continue;
    out.push_back({{"name", printable(s.name)},
                   {"low", s.bounds.low},
                   {"high", number(s.bounds.high)},
                   {"origin", s.origin == network::Symbol::Origin::data ? "data" : "derived"}});
  }
  return out;
}

Json coverage(const Inspection& i, const std::vector<KindTotals>& kinds) {
  Json uncounted = Json::array();
  for (const KindTotals& k : kinds)
    if (k.uncounted > 0) uncounted.push_back({{"op", printable(k.name)}, {"nodes", k.uncounted}});
  return {{"nodes", i.counts.nodes}, {"counted", i.counts.counted}, {"uncounted", uncounted}};
}

std::string_view name(Coverage c) {
  switch (c) {
    case Coverage::counted: return "counted";
    case Coverage::folded: return "folded";
    case Coverage::no_rule: return "no rule";
    case Coverage::unbounded: return "unbounded";
  }
  return "";
}

Json layer(const Inspection& i, const OperatorCount& row) {
  const network::Operator& op = i.network.graph(row.graph).operators[row.index];
  Json out = {{"name", layer_name(i.network, op)}, {"op", printable(kind_name(i.network, op))}};
  const auto outputs = i.network.outputs(op);
  out["output_shape"] =
      outputs.empty() || outputs[0] == network::kNoTensor ? Json(nullptr) : shape(i.shapes, outputs[0]);
  out["parameters"] = row.parameters;
  put_work(out, i.counts.work_of(row));
  if (row.coverage != Coverage::counted) out["coverage"] = name(row.coverage);
  if (row.graph != network::GraphId{0}) out["graph"] = printable(i.network.graph(row.graph).name);
  if (row.repeats != program::Interval{1, 1})
    out["repeats"] = {{"low", number(row.repeats.low)}, {"high", number(row.repeats.high)}};
  if (row.alternative > 0) out["alternative"] = true;
  return out;
}

}  // namespace

Json to_json(const Inspection& i) {
  const program::Counts& c = i.counts;
  const std::vector<KindTotals> kinds = totals_by_kind(i);
  Json out = {{"model", printable(i.model)},
              {"parameters", number(c.parameters)},
              {"weight_bytes", number(c.weight_bytes)}};
  if (!i.network.stored.empty()) out["stored"] = stored_json(i);
  put_work(out, c.forward);
  out["arithmetic_intensity"] = arithmetic_intensity(c.forward);
  out["activation_bytes"] = number(c.activation_bytes);
  put_work(out["backward"], c.backward);
  out["inputs"] = tensors(i, i.network.main().inputs);
  out["outputs"] = tensors(i, i.network.main().outputs);
  out["dimensions"] = bindings(i);
  out["unknowns"] = unknowns(i);
  out["conventions"] = {{"flops_per_mac", i.conventions.flops_per_mac},
                        {"bias", i.conventions.bias},
                        {"batch_norm", i.conventions.batch_norm},
                        {"halve_causal", i.conventions.halve_causal}};
  out["coverage"] = coverage(i, kinds);
  const WeightConcentration w = concentration(c);
  out["heaviest_layers"] = {{"layers", w.layers}, {"heaviest", w.heaviest}, {"share_of_weights", w.share}};
  Json by_op = Json::object();
  for (const KindTotals& k : kinds)
    by_op[printable(k.name)] = {{"nodes", k.nodes},
                                {"macs", number(k.work.macs.high)},
                                {"flops", number(k.work.flops.high)},
                                {"parameters", k.parameters}};
  out["by_op"] = std::move(by_op);
  Json layers = Json::array();
  for (const OperatorCount& row : c.operators) layers.push_back(layer(i, row));
  out["layers"] = std::move(layers);
  Json notes = Json::array();
  for (const std::string& note : i.notes) notes.push_back(printable(note));
  out["notes"] = std::move(notes);
  return out;
}

}  // namespace plimsoll::report
