#include "hardware/prices.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/named.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "hardware/json_section.hpp"

namespace plimsoll::hardware {
namespace {

using Json = nlohmann::json;
constexpr std::array<std::string_view, 3> kTerms = {"on-demand", "reserved", "purchase"};
constexpr double kHoursPerYear = 8766;  // 365.25 days
constexpr double kMostMoney = 1e12;

double positive(JsonSection& section, const std::string& key, double most) {
  const Json* value = section.take(key);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : std::nan("");
  if (number > 0 && number <= most) return number;
  section.complain(key, fmt::format("is not a number above 0, at most {:g}", most));
  return 0;
}

void read_price(JsonSection& section, Offer& offer) {
  const double price = positive(section, "price", kMostMoney);
  const std::string unit = section.required_text("unit");
  const std::string_view wanted = offer.terms == Terms::on_demand ? "$/h" : "$";
  if (unit != wanted)
    section.complain("unit", fmt::format("\"{}\" does not fit the terms", unit),
                     fmt::format("{} offers are in {}", name(offer.terms), wanted));
  if (offer.terms == Terms::on_demand)
    offer.per_hour = MoneyPerHour(price);
  else
    offer.price = Money(price);
}

void read_stated(JsonSection& parent, Offer& offer) {
  const Json* object = parent.take("tflops");
  if (object == nullptr || parent.error()) return;
  JsonSection section(*object, parent.place("tflops"), parent.error());
  for (int i = 0; i < kArithmetics; ++i) {
    const std::string key(name(static_cast<Arithmetic>(i)));
    if (object->is_object() && object->contains(key))
      offer.stated[static_cast<std::size_t>(i)] = FlopsPerSecond(positive(section, key, 1e9) * 1e12);
  }
  section.done();
}

std::vector<Offer> read_list(JsonSection& top) {
  if (const Json* version = top.take("version"); version == nullptr || *version != 1)
    top.complain("version", "is not 1", "this Plimsoll reads price lists of \"version\": 1");
  (void)top.required_text("id");
  Offer shared;
  shared.provider = top.required_text("provider");
  shared.terms = top.choice("terms", top.required_text("terms"), &terms_named, Terms::on_demand);
  shared.region = top.text("region");
  shared.source = top.required_text("source");
  shared.date = top.required_text("date");
  if (const auto years = top.whole("years", 1, 20)) shared.years = static_cast<int>(*years);
  if ((shared.terms == Terms::reserved) != (shared.years > 0))
    top.complain("years", "belongs to reserved offers, and only to them");
  (void)top.texts("notes");
  const Json* list = top.list("offers");
  if (list == nullptr) top.complain("offers", "is missing");
  std::vector<Offer> offers;
  std::set<std::string> names;
  for (std::size_t i = 0; list != nullptr && i < list->size() && !top.error(); ++i) {
    JsonSection section((*list)[i], fmt::format("offers[{}]", i), top.error());
    Offer offer = shared;
    offer.name = section.required_text("name");
    if (!names.insert(offer.name).second) section.complain("name", "stands twice");
    offer.device = section.required_text("device");
    const auto devices = section.whole("devices", 1, 1'000'000);
    if (!devices) section.complain("devices", "is missing");
    offer.devices = devices.value_or(1);
    read_price(section, offer);
    read_stated(section, offer);
    section.done();
    offers.push_back(std::move(offer));
  }
  top.done();
  return offers;
}

Result<std::vector<Offer>> load_all() {
  std::vector<Offer> all;
  for (const EmbeddedFile& file : embedded_prices()) {
    auto offers = parse_prices(file.contents, file.name);
    if (!offers) {
      offers.error().kind = Error::Kind::internal;
      return offers;
    }
    all.insert(all.end(), std::make_move_iterator(offers->begin()), std::make_move_iterator(offers->end()));
  }
  return all;
}

}  // namespace

std::string_view name(Terms terms) {
  return kTerms[static_cast<std::size_t>(terms)];
}
std::optional<Terms> terms_named(std::string_view name) {
  return named<Terms>(name, kTerms);
}

std::optional<MoneyPerHour> hourly(const Offer& offer) {
  if (offer.per_hour) return offer.per_hour;
  if (offer.terms != Terms::reserved || !offer.price) return std::nullopt;
  return MoneyPerHour(offer.price->value() / (offer.years * kHoursPerYear));
}

Result<std::vector<Offer>> parse_prices(std::string_view text, std::string_view where) {
  const auto json = parse_strictly(text);
  if (!json) return std::unexpected(Error(json.error()).within(where));
  std::optional<Error> error;
  JsonSection top(*json, "", error);
  std::vector<Offer> offers = read_list(top);
  if (error) return std::unexpected(std::move(*error).within(where));
  return offers;
}

const Result<std::vector<Offer>>& built_in_prices() {
  // A static because the files are part of the program: there is one answer, and it never changes.
  static const Result<std::vector<Offer>> prices = load_all();
  return prices;
}

Result<const Offer*> find_offer(std::span<const Offer> offers, std::string_view name) {
  const std::string key = lower_case(name);
  const Offer* found = nullptr;
  std::vector<std::string_view> names;
  for (const Offer& offer : offers) {
    if (std::ranges::find(names, offer.name) == names.end()) names.push_back(offer.name);
    if (lower_case(offer.name) != key) continue;
    if (found == nullptr || (offer.per_hour && !found->per_hour)) found = &offer;
  }
  if (found != nullptr) return found;
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) hint = "`plimsoll cost --list` shows those that are known.";
  return std::unexpected(
      Error{fmt::format("no offer is called \"{}\"", printable(name, 80)), {}, std::move(hint)});
}

const Offer* cheapest_per_device(std::span<const Offer> offers, std::string_view device) {
  const Offer* best = nullptr;
  const auto each = [](const Offer& o) { return o.per_hour->value() / static_cast<double>(o.devices); };
  for (const Offer& offer : offers)
    if (offer.device == device && offer.per_hour && (best == nullptr || each(offer) < each(*best)))
      best = &offer;
  return best;
}

}  // namespace plimsoll::hardware
