// Whole networks: what is left in memory after some iterations.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "estimate/memory/allocations.hpp"
#include "network/zoo/zoo.hpp"
#include "program/checkpoints.hpp"
#include "program/lowering.hpp"

namespace plimsoll::estimate {
namespace {

using program::kPurposes, program::Storage, program::StorageId, program::ValueId;

using network::Mode;
using network::Precision;

/// Bytes by purpose that are there at the end. Each buffer is allocated once, and freed at most once and
/// after that.
std::array<std::int64_t, kPurposes> left_by(const Allocations& allocations) {
  std::vector<int> state(allocations.buffers.size(), 0);
  std::array<std::int64_t, kPurposes> left{};
  for (const Event& event : allocations.events) {
    const bool frees = event.kind == Event::Kind::free;
    EXPECT_EQ(state[event.buffer]++, frees ? 1 : 0) << "buffer " << event.buffer;
    const Buffer& buffer = allocations.buffers[event.buffer];
    left[static_cast<std::size_t>(buffer.purpose)] += frees ? -buffer.bytes : buffer.bytes;
  }
  EXPECT_EQ(std::ranges::count(state, 0), 0);
  return left;
}

constexpr std::int64_t kLibraryBytes = 1 << 20;

void expect_only_what_lasts(const Program& program, const network::Setting& setting) {
  const auto left = left_by(allocations_of(program, setting, kLibraryBytes));
  const auto of = [&](Purpose purpose) { return left[static_cast<std::size_t>(purpose)]; };
  const bool trains = setting.mode == Mode::train;
  std::int64_t resident = 0, results = 0, trained = 0;
  for (const StorageId id : program.resident) resident += program.storage(id).bytes;
  for (const Storage& s : program.storages)
    results += s.output && s.purpose == Purpose::activation ? s.bytes : 0;
  for (const ValueId id : program.parameters)
    trained += program.value(id).needs_gradient ? program.value(id).bytes() : 0;
  EXPECT_EQ(of(Purpose::weight) + of(Purpose::input), resident);
  EXPECT_EQ(of(Purpose::activation) + of(Purpose::saved),
            trains ? results : 0);  // the caller's until the next pass
  EXPECT_EQ(of(Purpose::workspace), 0);
  EXPECT_EQ(of(Purpose::gradient) > 0, trains);
  // A parameter that the loss does not reach has neither gradient nor state.
  EXPECT_LE(of(Purpose::gradient), trains ? trained : 0);
  EXPECT_EQ(of(Purpose::optimizer), of(Purpose::gradient));  // momentum: one value each
  EXPECT_EQ(of(Purpose::library) % kLibraryBytes, 0);
  EXPECT_LE(of(Purpose::library), 2 * kLibraryBytes);
}

class AllocationsOfTheZoo : public testing::TestWithParam<std::string_view> {};

TEST_P(AllocationsOfTheZoo, LeavesOnlyWhatLasts) {
  for (const Mode mode : {Mode::infer, Mode::train}) {
    const auto network = network::zoo::build(GetParam(), mode);
    ASSERT_TRUE(network) << network.error().text();
    network::BindingRequest request;
    request.batch = 2;
    const auto binding = network::bind(*network, request);
    ASSERT_TRUE(binding) << binding.error().text();
    const auto shapes = network::infer(*network, *binding);
    ASSERT_TRUE(shapes) << shapes.error().text();
    for (const Precision precision : {Precision::fp32, Precision::amp_bf16}) {
      SCOPED_TRACE(testing::Message() << network::name(mode) << ' ' << network::name(precision));
      network::Setting setting{
          .mode = mode, .precision = precision, .optimizer = network::Optimizer::momentum};
      const auto program = program::lower(*network, *shapes, setting, {});
      ASSERT_TRUE(program) << program.error().text();
      expect_only_what_lasts(*program, setting);
      if (mode == Mode::infer) continue;
      setting.checkpoint = true;
      SCOPED_TRACE("checkpointed");
      expect_only_what_lasts(*program, setting);
    }
  }
}

std::vector<std::string_view> zoo_names() {
  std::vector<std::string_view> out;
  for (const auto& entry : network::zoo::entries())
    if (entry.name != "gpt3") out.push_back(entry.name);  // 96 layers of what GPT-2 has
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string_view>& tested) {
  std::string name(tested.param);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, AllocationsOfTheZoo, testing::ValuesIn(zoo_names()), test_name);

}  // namespace
}  // namespace plimsoll::estimate
