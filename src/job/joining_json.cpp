#include "job/joining_json.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::job {
namespace {

constexpr std::int64_t kMostJoinedEpochs = 1 << 20;

bool of_one_form(const network::Network& a, network::TensorId of_a, const network::Network& b,
                 network::TensorId of_b) {
  const network::Tensor &first = a.tensor(of_a), &second = b.tensor(of_b);
  return first.type == second.type && first.has_shape && second.has_shape &&
         std::ranges::equal(a.dims_of(first), b.dims_of(second), [](network::Dim x, network::Dim y) {
           return x.exact() && y.exact() && x.value() == y.value();
         });
}

std::vector<MemberWeight> read_tie(const Fields& fields, const std::vector<Job>& members,
                                   bool parameters_alone,
                                   std::set<std::pair<std::size_t, network::TensorId>>& seen) {
  std::vector<MemberWeight> tie;
  fields.each("weights", [&](const Fields& item) {
    const auto member =
        static_cast<std::size_t>(item.whole("member", 0, static_cast<std::int64_t>(members.size()) - 1));
    if (!item.good()) return;
    const network::Network& network = members[member].network;
    const auto tensor = static_cast<network::TensorId>(
        item.whole("tensor", 0, static_cast<std::int64_t>(network.tensors.size()) - 1));
    if (!item.good()) return;
    if (parameters_alone && network.tensor(tensor).role != network::Role::parameter)
      item.complain("tensor", "is no parameter");
    else if (!seen.emplace(member, tensor).second)
      item.complain("tensor", "stands in two ties");
    else if (!tie.empty() && !of_one_form(members[tie[0].member].network, tie[0].tensor, network, tensor))
      item.complain("tensor", "has another shape or type than the first of its tie");
    tie.push_back({member, tensor});
  });
  if (fields.good() && tie.size() < 2) fields.complain("weights", "are fewer than two");
  return tie;
}

}  // namespace

Json ties_json(const std::vector<std::vector<MemberWeight>>& ties) {
  Json out = Json::array();
  for (const std::vector<MemberWeight>& tie : ties) {
    Json weights = Json::array();
    for (const MemberWeight& weight : tie)
      weights.push_back({{"member", weight.member}, {"tensor", static_cast<std::int64_t>(weight.tensor)}});
    out.push_back({{"weights", std::move(weights)}});
  }
  return out;
}

std::vector<std::vector<MemberWeight>> read_ties(const Fields& fields, std::string_view key,
                                                 const std::vector<Job>& members, bool parameters_alone) {
  std::vector<std::vector<MemberWeight>> out;
  std::set<std::pair<std::size_t, network::TensorId>> seen;
  fields.each(key, [&](const Fields& tie) { out.push_back(read_tie(tie, members, parameters_alone, seen)); });
  return out;
}

Json joining_json(const Joining& joining) {
  return {{"ties", ties_json(joining.ties)},
          {"averaged", joining.averaged},
          {"floors", reals_json(joining.floors)},
          {"epochs", joining.epochs},
          {"folder", text_json(joining.folder)}};
}

Joining read_joining(const Fields& fields, const std::vector<Job>& members) {
  Joining joining;
  joining.ties = read_ties(fields, "ties", members, true);
  joining.averaged = fields.flag("averaged");
  joining.floors = fields.not_negatives("floors");
  joining.epochs = fields.whole("epochs", 0, kMostJoinedEpochs);
  joining.folder = fields.text("folder");
  if (joining.folder.find('\0') != std::string::npos) fields.complain("folder", "is not a path");
  if (joining.floors.size() != members.size()) fields.complain("floors", "are not as many as the members");
  return joining;
}

}  // namespace plimsoll::job
