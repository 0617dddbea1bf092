#include "report/timeline_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/test_browser.hpp"

namespace plimsoll::report {
namespace {

using estimate::Timeline;
using program::Phase;
using program::Purpose;
using ::testing::HasSubstr;
using ::testing::Not;

/// A weight throughout; each of `tensors` lives from its event to the last but so many.
Timeline pyramid(std::size_t tensors, const std::string& name = "tensor") {
  Timeline t;
  t.events = 2 * tensors;
  t.spans.push_back({"weight", "Conv 'a'", Purpose::weight, 1000, 0, t.events});
  std::array<std::int64_t, program::kPurposes> now{};
  now[static_cast<std::size_t>(Purpose::weight)] = 1000;
  for (std::size_t i = 0; i < tensors; ++i)
    t.spans.push_back({name + std::to_string(i), "Relu 'r'", Purpose::saved, 100, i, t.events - 1 - i});
  for (std::size_t i = 0; i < t.events; ++i) {
    now[static_cast<std::size_t>(Purpose::saved)] += i < tensors ? 100 : -100;
    t.points.push_back({i, i < tensors ? Phase::forward : Phase::backward, now});
  }
  return t;
}

nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view kBegin = "id=\"data\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(TimelinePage, NeedsNothingElse) {
  const std::string page = timeline_page(pyramid(5), "resnet50", Bytes(4000));
  EXPECT_THAT(page, ::testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(TimelinePage, ShowsPhasesAreasAndTheDevicesLine) {
  const std::string page = timeline_page(pyramid(5), "resnet50", Bytes(2048));
  EXPECT_THAT(page, HasSubstr(">forward</text>"));
  EXPECT_THAT(page, HasSubstr(">backward</text>"));
  EXPECT_THAT(page, HasSubstr("<path class=\"weight\""));
  EXPECT_THAT(page, HasSubstr("<path class=\"saved\""));
  EXPECT_THAT(page, Not(HasSubstr("<path class=\"gradient\"")));
  EXPECT_THAT(page, HasSubstr("<line class=\"device\""));
  EXPECT_THAT(page, HasSubstr("the device has 2.00 KiB</text>"));
  // Far above the peak the line would press the curve flat: it is named instead.
  const std::string roomy = timeline_page(pyramid(5), "resnet50", Bytes(15000));
  EXPECT_THAT(roomy, Not(HasSubstr("<line class=\"device\"")));
  EXPECT_THAT(roomy, HasSubstr("the device has 14.6 KiB, 10 times the peak"));
}

TEST(TimelinePage, NamesOnlyPurposesThatAreThere) {
  const std::string page = timeline_page(pyramid(5), "resnet50", {});
  EXPECT_THAT(page, HasSubstr("<span class=\"key saved\"></span>saved for backward</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<span class=\"key cache\">")));
  EXPECT_THAT(page, Not(HasSubstr("<span class=\"key gradient\">")));
}

TEST(TimelinePage, DataSaysWhenEachTensorLives) {
  const auto data = data_of(timeline_page(pyramid(3), "m", {}));
  EXPECT_EQ(data.at("spans").at("begin"), (nlohmann::json{0, 0, 1, 1}));  // differences
  EXPECT_EQ(data.at("spans").at("length"), (nlohmann::json{6, 5, 3, 1}));
  EXPECT_EQ(data.at("columns"), (nlohmann::json{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(data.at("peak"), 2);
  EXPECT_EQ(data.at("phases"), nlohmann::json::parse(R"([["forward", 0], ["backward", 3]])"));
  const auto name = [&](std::size_t span) {
    return data.at("texts").at(data.at("spans").at("tensor").at(span).get<std::size_t>());
  };
  EXPECT_EQ(name(0), "weight");
  EXPECT_EQ(name(3), "tensor2");
}

TEST(TimelinePage, HostileNamesStayText) {
  const std::string evil = "</script><script>alert('\"1\"')</script><!--<img onerror=x>&\x1b[31m\xff";
  Timeline timeline = pyramid(2, evil);
  timeline.spans[1].op = evil;
  const std::string page = timeline_page(timeline, evil + "\"'", Bytes(4000));
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_EQ(count(page, "<!--"), 0u);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "\x1b"), 0u);
  EXPECT_THAT(page, HasSubstr("<h1>&lt;/script&gt;&lt;script&gt;alert(&#39;&quot;1&quot;&#39;)"));
  const auto texts = data_of(page).at("texts");
  EXPECT_NE(
      std::ranges::find(texts, "</script><script>alert('\"1\"')</script><!--<img onerror=x>&\\x1b[31m\\xff0"),
      texts.end());
}

TEST(TimelinePage, StaysSmallAndKeepsThePeakOfManyEvents) {
  Timeline timeline = pyramid(50'000, "a tensor with quite a long name");
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    timeline.spans[i].tensor = "layer" + std::to_string(i % 500);
  const std::string page = timeline_page(timeline, "m", {});
  EXPECT_LT(page.size(), 50'000u * 40);
  const auto data = data_of(page);
  EXPECT_EQ(data.at("columns").size(), 1000u);
  EXPECT_EQ(data.at("columns").at(data.at("peak").get<std::size_t>()), 49'999);
  EXPECT_EQ(data.at("texts").size(), 502u);  // each once, the weight's maker, Relu
}

TEST(TimelinePage, OfNothing) {
  EXPECT_THAT(timeline_page({}, "", {}), HasSubstr("</html>"));
  EXPECT_THAT(timeline_page({}, "", Bytes()), HasSubstr("</html>"));
}

class TimelinePageInABrowser : public PageInABrowser {};

TEST_F(TimelinePageInABrowser, FitsAPhoneAndItsLabelsCanBeRead) {
  const std::string page = timeline_page(pyramid(50, "transformer.layers.0.attention.projection."),
                                         "a model with a long name, batch 64, train", Bytes(8000));
  for (const int width : {1200, 390}) {
    const nlohmann::json answer = ask(page, R"(
      answer.overflow = document.documentElement.scrollWidth - innerWidth;
      answer.rows = document.querySelectorAll('#tensors tr').length;
      const frame = chart.getBoundingClientRect();
      answer.cut = []; answer.small = [];
      for (const text of chart.querySelectorAll('text')) {
        const box = text.getBoundingClientRect();
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
          answer.cut.push(text.textContent);
        if (box.height < 9) answer.small.push(text.textContent);
      }
      say();)",
                                      width);
    ASSERT_TRUE(answer.is_object()) << answer;
    EXPECT_EQ(answer.value("error", ""), "");
    EXPECT_LE(answer.at("overflow").get<int>(), 0) << width;
    EXPECT_EQ(answer.at("rows"), 10);
    EXPECT_EQ(answer.at("cut"), nlohmann::json::array()) << width;
    EXPECT_EQ(answer.at("small"), nlohmann::json::array()) << width;
  }
}

}  // namespace
}  // namespace plimsoll::report
