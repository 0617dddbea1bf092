#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "network/inference.hpp"
#include "network/network.hpp"
#include "program/count.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Everything `plimsoll inspect` knows about one model, ready to be shown. A view: what it points to must
/// outlive it.
struct Inspection {
  std::string model;  ///< as the person named it
  const network::Network& network;
  const network::Shapes& shapes;
  const program::Counts& counts;
  const program::Conventions& conventions;
  std::vector<std::string> notes;
};

/// Totals of all operators of one kind.
struct KindTotals {
  std::string name;  ///< "Conv", "com.microsoft.Attention"
  std::size_t nodes = 0;
  std::size_t uncounted = 0;
  program::Work work;
  std::int64_t parameters = 0;
};

/// Most FLOPs first, then most nodes.
[[nodiscard]] std::vector<KindTotals> totals_by_kind(const Inspection& inspection);

/// What the heaviest 15 % of the layers with weights, rounded up, hold of them.
struct WeightConcentration {
  std::size_t heaviest = 0;
  std::size_t layers = 0;
  double share = 0;
};
[[nodiscard]] WeightConcentration concentration(const program::Counts& counts);

/// "Conv", with its domain before it where that is not ONNX's own.
[[nodiscard]] std::string kind_name(const network::Network& network, const network::Operator& op);
/// The operator's name or, where it has none, its first output's; safe to print.
[[nodiscard]] std::string layer_name(const network::Network& network, const network::Operator& op);

/// The machine-readable answer: the contract's fields and more.
[[nodiscard]] nlohmann::ordered_json to_json(const Inspection& inspection);

[[nodiscard]] std::string summary_text(const Inspection& inspection, const TextStyle& style);
[[nodiscard]] Table kind_table(const Inspection& inspection);
[[nodiscard]] Table layer_table(const Inspection& inspection);
/// The layers for programs: whole numbers in base units; empty where not counted.
[[nodiscard]] Table layer_numbers(const Inspection& inspection);

/// Figures for people where they are exact, "<= 12.3 G" where they are a bound, "unknown" without one.
[[nodiscard]] std::string interval_text(program::Interval n);
[[nodiscard]] std::string interval_bytes_text(program::Interval n);
/// 25557032 as "25,557,032".
[[nodiscard]] std::string grouped(std::int64_t n);

}  // namespace plimsoll::report
