// Estimates of memory against what PyTorch needed on an H200. Compiled twice: with the workspaces of
// convolutions as they are shipped, and with a table that was fitted to no network's layers at all
// (left_out/), which is what an estimate is worth for a network that was never seen. The data stand beside
// the project; without them the tests are skipped.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "estimate/memory/memory.hpp"
#include "hardware/this_machine.hpp"
#include "inspected.hpp"
#include "program/lowering.hpp"

namespace plimsoll::integration {
namespace {

using nlohmann::json;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

struct Compared {
  std::string model, mode;
  double allocated = 0, reserved = 0;  ///< relative errors
  std::optional<double> minimum, used;
  bool held = false;  ///< the measured peak lies in the interval
};

std::filesystem::path graph_of(const std::string& model, bool training) {
  for (const char* kind : {training ? "train" : "eager", "dynamo", "script"}) {
    const auto path = shared() / "data/onnx" / (model + "." + kind + ".onnx");
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

bool is_language(const std::string& model) {
  return model == "bert_base" || model == "gpt2";
}
bool is_detector(const std::string& model) {
  return model.find("rcnn") != std::string::npos || model.starts_with("ssd");
}

Compared compare(const json& row) {
  const std::string model = row.at("model");
  const std::string mode = row.at("mode");
  const bool training = mode != "infer";
  network::BindingRequest request;
  request.batch = row.at("bs").get<std::int64_t>();
  const auto inspected = inspect_file(graph_of(model, training), request);
  EXPECT_TRUE(inspected) << model;
  network::Setting setting;
  if (training) {
    setting.mode = network::Mode::train;
    setting.optimizer = row.at("opt") == "adam" ? network::Optimizer::adam : network::Optimizer::momentum;
    if (row.at("amp") == true) setting.precision = network::Precision::amp_bf16;
    if (is_language(model)) setting.loss = network::Loss::mean_square;
  }
  static const hardware::Device h200 = *hardware::device_named("h200");
  const estimate::Target target{&h200};
  const auto program =
      program::lower(inspected->network, inspected->shapes, setting, target.platform(setting));
  EXPECT_TRUE(program) << model;
  const auto estimate = estimate::estimate_memory(inspected->network, *program, setting, h200);
  EXPECT_TRUE(estimate) << model;
  const auto error = [](Bytes got, double want) {
    return std::abs(static_cast<double>(got.count()) / want - 1);
  };
  const auto allocated = row.at("alloc").get<double>();
  Compared out{model,
               mode,
               error(estimate->peak_allocated, allocated),
               error(estimate->peak_reserved, row.at("reserved").get<double>()),
               {},
               {},
               false};
  out.held = static_cast<double>(estimate->low.count()) <= allocated &&
             allocated <= static_cast<double>(estimate->high.count());
  if (mode == "fresh") {
    out.minimum =
        error(estimate->minimum_reserved,
              (row.at("min_capacity_low").get<double>() + row.at("min_capacity_high").get<double>()) / 2);
    out.used = error(estimate->device_used(), row.at("used").get<double>());
  }
  return out;
}

class PLIMSOLL_TRUTH_SUITE : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared() / "data/h200/memory.jsonl"))
      GTEST_SKIP() << "no measurements in " << shared() / "data/h200" << "; PLIMSOLL_SHARED names the folder";
  }
  static const std::vector<Compared>& rows() {
    static const std::vector<Compared> kRows = [] {
      std::vector<Compared> all;
      std::ifstream file(shared() / "data/h200/memory.jsonl");
      for (std::string line; std::getline(file, line);) {
        const json row = json::parse(line);
        const std::string mode = row.at("mode");
        if (mode != "infer" && mode != "train" && mode != "fresh") continue;
        if (!is_detector(row.at("model"))) all.push_back(compare(row));
      }
      return all;
    }();
    return kRows;
  }
  template <class Pick>
  static std::vector<double> errors(const std::string& mode, Pick pick) {
    std::vector<double> out;
    for (const Compared& row : rows())
      if (row.mode == mode) out.push_back(pick(row));
    return out;
  }
};

TEST_F(PLIMSOLL_TRUTH_SUITE, AllocatedAndReservedPeaks) {
  const auto allocated = [](const Compared& row) { return row.allocated; };
  const auto reserved = [](const Compared& row) { return row.reserved; };
  ASSERT_GE(errors("train", allocated).size(), 80u);
  EXPECT_LE(median(errors("train", allocated)), 0.02);
  EXPECT_LE(quantile(errors("train", allocated), 0.9), 0.08);
  EXPECT_LE(median(errors("infer", allocated)), 0.03);
  EXPECT_LE(quantile(errors("infer", allocated), 0.9), 0.10);
  for (const char* mode : {"train", "infer"}) {
    EXPECT_LE(median(errors(mode, reserved)), 0.08) << mode;
    EXPECT_LE(quantile(errors(mode, reserved), 0.9), 0.20) << mode;
  }
}

TEST_F(PLIMSOLL_TRUTH_SUITE, SmallestCapacityAndBytesOnTheDevice) {
  EXPECT_LE(median(errors("fresh", [](const Compared& row) { return *row.minimum; })), 0.03);
  EXPECT_LE(median(errors("fresh", [](const Compared& row) { return *row.used; })), 0.03);
}

TEST_F(PLIMSOLL_TRUTH_SUITE, NoModelIsFarOff) {
  std::map<std::string, std::vector<double>> by_model;
  for (const Compared& row : rows()) by_model[row.model].push_back(row.allocated);
  ASSERT_GE(by_model.size(), 12u);
  for (const auto& [model, all] : by_model) {
    EXPECT_LE(median(all), 0.06) << model;
    RecordProperty(model, std::to_string(median(all)));
  }
}

TEST_F(PLIMSOLL_TRUTH_SUITE, TheIntervalHoldsForNineteenOfTwenty) {
  const auto held = std::ranges::count_if(rows(), &Compared::held);
  EXPECT_GE(static_cast<double>(held), 0.95 * static_cast<double>(rows().size()))
      << held << " of " << rows().size();
}

}  // namespace
}  // namespace plimsoll::integration
