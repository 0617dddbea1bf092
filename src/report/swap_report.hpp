#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/swap/compare.hpp"
#include "plan/swap/order.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Models that take turns in a memory, under several policies.
struct SwapReport {
  struct ModelRow {
    std::string name;
    Bytes weights, shared;  ///< shared: of these, with others
    std::size_t layers = 0;
    Seconds seconds;  ///< of computing alone
    double rate = 0;  ///< frames a second; 0: as a file says
    Seconds limit;
  };
  struct Row {
    std::string policy, about;
    bool told_ahead = false;
    bool merged = false;           ///< what is shared is held once
    std::optional<Bytes> needs{};  ///< memory; where there is too little
    plan::swapping::Summary of = {};
    plan::swapping::Misses missed = {};
  };
  /// A run of the best row.
  struct RoundRun {
    struct Gone {
      std::string model;
      Bytes bytes;
    };
    std::string model;
    Seconds arrival, begin, finish;
    std::optional<plan::swapping::Copied> copies{};  ///< from the first to the last
    Bytes moved = {};
    std::vector<Gone> gone = {};
  };
  std::string device;
  Bytes memory, for_weights, activations, block;
  plan::swapping::HostLink link;
  std::vector<ModelRow> models;
  std::size_t frames = 0;
  std::string pattern;  ///< "steady", "bursty", or a file's name
  std::optional<std::uint64_t> seed = {};
  bool drops_late = true;
  Bytes separate;                 ///< all weights, each model's its own
  std::optional<Bytes> together;  ///< each once, where some are shared
  plan::swapping::Round order, given;
  std::vector<Row> rows;
  std::optional<std::size_t> best = {};  ///< of the rows; nothing where none can run
  std::vector<RoundRun> round = {};
};

[[nodiscard]] std::string swap_text(const SwapReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json swap_json(const SwapReport& report);

/// What kept frames from being met, and what would do; and which of merging and swapping gives more.
[[nodiscard]] std::vector<std::string> swap_findings(const SwapReport& report);

}  // namespace plimsoll::report
