#include "hardware/prices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"

namespace plimsoll::hardware {
namespace {

using testing::HasSubstr;

const std::vector<Offer>& offers() {
  static const std::vector<Offer> none;
  const auto& loaded = built_in_prices();
  EXPECT_TRUE(loaded) << loaded.error().text();
  return loaded ? *loaded : none;
}

TEST(Prices, EveryOfferHasDateSourceAndADeviceThatIsKnown) {
  ASSERT_EQ(offers().size(), 22U);
  const auto& catalogue = built_in_catalogue();
  ASSERT_TRUE(catalogue);
  for (const Offer& offer : offers()) {
    EXPECT_FALSE(offer.date.empty()) << offer.name;
    EXPECT_FALSE(offer.source.empty()) << offer.name;
    if (offer.device == "a10g") continue;  // no A10: the catalogue has none
    const auto device = catalogue->find(offer.device);
    ASSERT_TRUE(device) << offer.name;
    EXPECT_EQ((*device)->id, offer.device);
  }
}

TEST(Prices, AreThoseOfTheLists) {
  const auto per_hour = [](std::string_view name) {
    const auto offer = find_offer(offers(), name);
    return offer ? (*offer)->per_hour.value_or(MoneyPerHour()).value() : 0;
  };
  EXPECT_DOUBLE_EQ(per_hour("p3.2xlarge"), 3.06) << "on demand comes before reserved";
  EXPECT_DOUBLE_EQ(per_hour("P5EN.48xlarge"), 63.30);
  EXPECT_DOUBLE_EQ(per_hour("g6.xlarge"), 0.805);
  const auto dgx = find_offer(offers(), "dgx-1v");
  ASSERT_TRUE(dgx);
  EXPECT_EQ((*dgx)->price, Money(149'000));
  EXPECT_EQ((*dgx)->stated[static_cast<std::size_t>(Arithmetic::fp16)], FlopsPerSecond(960e12));
  EXPECT_EQ(hourly(**dgx), std::nullopt) << "nobody says how long a machine that was bought will serve";
  EXPECT_THAT(find_offer(offers(), "p3.2xlarg").error().hint, HasSubstr("p3.2xlarge"));
}

TEST(Prices, AReservedTermIsSpreadOverItsHours) {
  Offer offer{.name = "r",
              .device = "k80",
              .terms = Terms::reserved,
              .provider = "p",
              .source = "s",
              .date = "2018",
              .price = Money(3 * 8766 * 2.5),
              .years = 3};
  ASSERT_TRUE(hourly(offer));
  EXPECT_DOUBLE_EQ(hourly(offer)->value(), 2.5);
}

TEST(Prices, TheCheapestIsThatPerDevice) {
  const Offer* h100 = cheapest_per_device(offers(), "h100-sxm");
  ASSERT_NE(h100, nullptr);
  EXPECT_EQ(h100->name, "p5.4xlarge") << "6.88 a device in both; the first";
  EXPECT_EQ(cheapest_per_device(offers(), "jetson-nano"), nullptr);
}

TEST(Prices, RefusesWhatIsWrong) {
  const auto list = [](std::string_view head, std::string_view offer) {
    return fmt::format(
        R"({{"version": 1, "id": "l", "provider": "p", "source": "s", "date": "2025", {}, "offers": [{}]}})",
        head, offer);
  };
  const std::string_view demand = R"("terms": "on-demand")";
  const std::string_view right = R"({"name": "a", "device": "k80", "devices": 1, "price": 1, "unit": "$/h"})";
  EXPECT_TRUE(parse_prices(list(demand, right), "l.json"));
  struct Wrong {
    std::string text, where, message;
  };
  const Wrong table[] = {
      {"{", "l.json", "not JSON"},
      {list(R"("terms": "lent")", right), "terms", "not one of"},
      {list(R"("terms": "reserved")", right), "years", "reserved"},
      {list(R"("terms": "on-demand", "years": 3)", right), "years", "reserved"},
      {list(R"("terms": "purchase")", right), "offers[0].unit", "does not fit"},
      {list(R"("terms": "on-demand", "currency": "EUR")", right), "currency", "not a known key"},
      {list(demand, fmt::format("{}, {}", right, right)), "offers[1].name", "twice"},
      {list(demand, R"({"name": "a", "device": "k80", "devices": 0, "price": 1, "unit": "$/h"})"),
       "offers[0].devices", "whole number"},
      {list(demand, R"({"name": "a", "device": "k80", "price": 1, "unit": "$/h"})"), "offers[0].devices",
       "missing"},
      {list(demand, R"({"name": "a", "device": "k80", "devices": 1, "price": -1, "unit": "$/h"})"),
       "offers[0].price", "above 0"},
      {list(demand, R"({"name": "a", "device": "k80", "devices": 1, "price": "1", "unit": "$/h"})"),
       "offers[0].price", "above 0"},
      {list(
           demand,
           R"({"name": "a", "device": "k80", "devices": 1, "price": 1, "unit": "$/h", "tflops": {"fp12": 1}})"),
       "offers[0].tflops.fp12", "not a known key"},
      {R"({"version": 1, "id": "l", "provider": "p", "source": "s", "terms": "on-demand", "offers": []})",
       "date", "missing"},
  };
  for (const Wrong& wrong : table) {
    const auto parsed = parse_prices(wrong.text, "l.json");
    ASSERT_FALSE(parsed) << wrong.text;
    EXPECT_THAT(parsed.error().where, HasSubstr(wrong.where)) << wrong.text;
    EXPECT_THAT(parsed.error().message, HasSubstr(wrong.message)) << wrong.text;
  }
}

}  // namespace
}  // namespace plimsoll::hardware
