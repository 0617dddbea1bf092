#include "plan/front.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace plimsoll::plan {
namespace {

using hardware::Bound;

enum class Order : std::uint8_t { better, equal, not_better };

/// a against b, where less is better.
Order compare(const std::optional<Known>& a, const std::optional<Known>& b) {
  if (!a && !b) return Order::equal;
  if (!a || !b) return Order::not_better;
  const bool alike = a->figure.bound == b->figure.bound && a->figure.bound != Bound::more_than;
  const double left = alike ? a->figure.value : a->high;
  const double right = alike ? b->figure.value : b->low;
  if (left < right) return Order::better;
  return alike && left == right ? Order::equal : Order::not_better;
}

std::optional<Known> negated(const std::optional<Known>& value) {
  if (!value) return std::nullopt;
  Known out = *value;
  out.figure.value = -value->figure.value;
  out.low = -value->high;
  out.high = -value->low;
  return out;
}

bool dominates(const Candidate& a, const Candidate& b) {
  const Order orders[] = {compare(a.image, b.image), compare(a.energy, b.energy),
                          compare(negated(a.accuracy), negated(b.accuracy))};
  return std::ranges::none_of(orders, [](Order o) { return o == Order::not_better; }) &&
         std::ranges::any_of(orders, [](Order o) { return o == Order::better; });
}

/// "mass and size".
std::string list(std::vector<std::string_view> names) {
  if (names.empty()) return {};
  const std::string_view last = names.back();
  names.pop_back();
  return names.empty() ? std::string(last) : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string list(const Candidate& candidate, Standing standing) {
  std::vector<std::string_view> names;
  for (const Check& check : candidate.checks)
    if (check.standing == standing) names.push_back(name(check.aspect));
  return list(std::move(names));
}

/// "; mass and size are unknown: no figure is published": what is missing, and what a range leaves open.
std::string open_questions(const Candidate& candidate) {
  std::vector<std::string_view> missing, undecided;
  for (const Check& check : candidate.checks)
    if (check.standing == Standing::unknown)
      (check.figure ? undecided : missing).push_back(name(check.aspect));
  const auto are = [](const auto& names) { return names.size() == 1 ? "is" : "are"; };
  std::string out;
  if (!undecided.empty())
    out += fmt::format("; {} {} undecided, since the limit lies within the estimate's range", list(undecided),
                       are(undecided));
  if (!missing.empty())
    out += fmt::format("; {} {} unknown, since no figure is published", list(missing), are(missing));
  return out;
}

bool as_good(const Candidate& a, const Candidate& b) {
  const auto value = [](const std::optional<Known>& known) { return known ? known->figure.value : -1; };
  return a.count(Standing::failed) == 0 && a.count(Standing::unknown) == b.count(Standing::unknown) &&
         value(a.accuracy) == value(b.accuracy) && value(a.energy) == value(b.energy) &&
         value(a.image) == value(b.image);
}

/// The limit that most devices fail in every form: where to give way first.
std::string hardest(const Choice& choice) {
  std::vector<std::size_t> failures(static_cast<std::size_t>(Aspect::updates) + 1);
  for (const Candidate& candidate : choice.candidates)
    for (const Check& check : candidate.checks)
      if (check.standing == Standing::failed) ++failures[static_cast<std::size_t>(check.aspect)];
  const auto most = std::ranges::max_element(failures);
  return fmt::format("{}, which {} of {} fail", name(static_cast<Aspect>(most - failures.begin())), *most,
                     choice.candidates.size());
}

}  // namespace

void mark_front(std::span<Candidate> candidates) {
  std::vector<Candidate*> passing;
  for (Candidate& candidate : candidates)
    if (candidate.count(Standing::failed) == 0) passing.push_back(&candidate);
  for (Candidate* candidate : passing)
    candidate->on_front =
        std::ranges::none_of(passing, [&](const Candidate* other) { return dominates(*other, *candidate); });
}

std::string reason_of(const Choice& choice, const Question& question) {
  if (choice.candidates.empty()) return "there is no device to choose from";
  if (!choice.recommended)
    return fmt::format("every device fails at least one limit, whatever form it runs; the hardest is {}",
                       hardest(choice));
  const Candidate& best = choice.candidates[*choice.recommended];
  std::string out = fmt::format("{} with {} in {} ", best.device->id, question.variants[best.variant].name,
                                name(best.arithmetic));
  if (best.count(Standing::unknown) == 0)
    out += fmt::format("meets every limit: {}", list(best, Standing::met));
  else
    out += fmt::format("fails no limit: it meets {}{}", list(best, Standing::met), open_questions(best));
  std::set<std::string> alike;  // devices, in whichever form
  for (const Candidate& c : choice.candidates)
    if (c.count(Standing::failed) == 0 && c.count(Standing::unknown) == best.count(Standing::unknown))
      alike.insert(c.device->id);
  if (alike.size() > 1) {
    out += fmt::format(". Of the {} devices that do, it is ", alike.size());
    if (best.accuracy)
      out += fmt::format("the most accurate ({:.2f} %), and among those as accurate ",
                         100 * best.accuracy->figure.value);
    out += "the one that takes least energy, then least time, for an image";
  }
  for (const Candidate& other : choice.candidates)
    if (other.device != best.device && as_good(other, best))
      out += fmt::format("; {} is as good", other.device->id);
  return out;
}

}  // namespace plimsoll::plan
