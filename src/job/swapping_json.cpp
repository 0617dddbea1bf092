#include "job/swapping_json.hpp"

#include "job/joining_json.hpp"

namespace plimsoll::job {
namespace {

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 32;
constexpr std::size_t kMostFrames = 1'000'000;

std::vector<Swapping::Frame> read_frames(const Fields& fields, std::size_t members) {
  const std::vector<std::int64_t> of = fields.wholes("members", 0, static_cast<std::int64_t>(members) - 1);
  const std::vector<double> arrivals = fields.not_negatives("arrivals"),
                            deadlines = fields.not_negatives("deadlines");
  std::vector<Swapping::Frame> out;
  if (of.size() > kMostFrames || of.size() != arrivals.size() || of.size() != deadlines.size()) {
    fields.complain("members", "are too many, or not as many as arrivals and deadlines");
    return out;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i > 0 && arrivals[i] < arrivals[i - 1]) fields.complain("arrivals", "are not sorted");
    out.push_back({static_cast<std::size_t>(of[i]), arrivals[i], deadlines[i]});
  }
  return out;
}

}  // namespace

Json swapping_json(const Swapping& swapping) {
  std::vector<double> arrivals, deadlines;
  Json members = Json::array();
  for (const Swapping::Frame& frame : swapping.frames) {
    members.push_back(frame.member);
    arrivals.push_back(frame.arrival);
    deadlines.push_back(frame.deadline);
  }
  return {{"shared", ties_json(swapping.shared)},
          {"block_bytes", swapping.block_bytes},
          {"capacity", swapping.capacity},
          {"policy", text_json(swapping.policy)},
          {"frames",
           {{"members", std::move(members)},
            {"arrivals", reals_json(arrivals)},
            {"deadlines", reals_json(deadlines)}}},
          {"foreseen", swapping.foreseen},
          {"drops_late", swapping.drops_late},
          {"by_clock", swapping.by_clock},
          {"outputs", text_json(swapping.outputs)}};
}

Swapping read_swapping(const Fields& fields, const std::vector<Job>& members) {
  Swapping out{.shared = read_ties(fields, "shared", members, false),
               .block_bytes = fields.whole("block_bytes", 1, std::int64_t{1} << 40),
               .capacity = fields.whole("capacity", 1, kMostBlocks),
               .policy = fields.text("policy"),
               .frames = read_frames(fields.section("frames"), members.size()),
               .foreseen = fields.flag("foreseen"),
               .drops_late = fields.flag("drops_late"),
               .by_clock = fields.flag("by_clock"),
               .outputs = fields.text("outputs")};
  if (out.outputs.find('\0') != std::string::npos) fields.complain("outputs", "is not a path");
  return out;
}

}  // namespace plimsoll::job
