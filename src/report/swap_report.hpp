#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/table.hpp"
#include "swapping/compare.hpp"
#include "swapping/order.hpp"

namespace plimsoll::report {

/// What happened when models took turns for real.
struct SwapRun {
  std::string policy;
  bool merged = false;
  swapping::Summary of = {};
  /// The same frames, with times of layers and copies as the engine measured them just before.
  swapping::Summary simulated = {};
  swapping::HostLink link = {};  ///< as measured
  Bytes peak = {};               ///< of blocks, by the allocator
  Bytes decided = {};            ///< moved, as the policy accounts for it
  Bytes decided_peak = {};       ///< likewise
  Bytes activations = {};        ///< the allocator's peak beside the blocks
  std::int64_t copies = 0;
  BytesPerSecond copying = {};  ///< while a copy was under way
  Seconds elapsed = {};
  std::int64_t outputs_differing = 0;  ///< runs whose outputs were not those of the model alone
};

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
    swapping::Summary of = {};
    swapping::Misses missed = {};
  };
  /// A run of the best row.
  struct RoundRun {
    struct Gone {
      std::string model;
      Bytes bytes;
    };
    std::string model;
    Seconds arrival, begin, finish;
    std::optional<swapping::Copied> copies{};  ///< from the first to the last
    Bytes moved = {};
    std::vector<Gone> gone = {};
  };
  std::string device;
  /// Times are known well enough to simulate; else there are only runs, and of rows whether they can run.
  bool estimated = true;
  Bytes memory, for_weights, activations, block;
  swapping::HostLink link;
  std::vector<ModelRow> models;
  std::size_t frames = 0;
  std::string pattern;  ///< "steady", "bursty", or a file's name
  std::optional<std::uint64_t> seed = {};
  bool drops_late = true;
  Bytes separate;                 ///< all weights, each model's its own
  std::optional<Bytes> together;  ///< each once, where some are shared
  swapping::Round order, given;
  std::vector<Row> rows;
  std::optional<std::size_t> best = {};  ///< of the rows; nothing where none can run
  std::vector<RoundRun> round = {};
  std::vector<SwapRun> runs = {};  ///< for real, where that was asked for
  std::string ran_on = {};         ///< "cpu, …"
  bool in_sequence = false;        ///< they ran frame after frame, not by the clock
  std::string did_not_fit = {};    ///< why a run came to nothing
};

[[nodiscard]] std::string swap_text(const SwapReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json swap_json(const SwapReport& report);

/// The part of it that is about runs; nothing where there are none.
[[nodiscard]] std::string swap_runs_text(const SwapReport& report, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json swap_runs_json(const SwapReport& report);
[[nodiscard]] std::vector<std::string> swap_run_findings(const SwapReport& report);

/// What kept frames from being met, and what would do; and which of merging and swapping gives more.
[[nodiscard]] std::vector<std::string> swap_findings(const SwapReport& report);

}  // namespace plimsoll::report
