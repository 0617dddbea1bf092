#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/calibration.hpp"
#include "network/stored.hpp"
#include "network/test_network.hpp"
#include "program/count.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

using hardware::OperatorClass;
using network::Builder;
using network::DataType;
using network::Precision;
using network::Setting;
using network::test_network::Built;
using network::test_network::built;
using network::test_network::input;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kRows = 3, kIn = 512, kOut = 256, kBytes = kIn * kOut / 256 * 144;

/// Rows times a weight in blocks of 144 bytes.
Built product(bool turned = false) {
  Built b = built([&](Builder& n) {
    const auto x = input(n, "x", {1, kRows, kIn});
    if (!turned) return n.add("MatMul", "product", {x, n.parameter("w", {kIn, kOut})});
    const auto w = n.add("Transpose", "turn", {n.parameter("w", {kOut, kIn})}, {{"perm", {1, 0}}});
    return n.add("MatMul", "product", {x, w});
  });
  network::set_stored(b.network, {{b.network.main().weights[0], "Q4_K", kBytes, true}});
  return b;
}

Program program_of(const Built& b, const Setting& setting) {
  Result<Program> program = lower(b.network, b.shapes, setting, {.gpu = true});
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : Program();
}

std::int64_t weight_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Storage& s : program.storages)
    if (s.purpose == Purpose::weight) bytes += s.bytes;
  return bytes;
}

TEST(StoredWeights, TakeTheirBytesInEveryPrecision) {
  const Built b = product();
  for (const Precision p :
       {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8, Precision::amp_bf16}) {
    const Program program = program_of(b, {.precision = p});
    EXPECT_EQ(weight_bytes(program), kBytes) << network::name(p);
    for (const Storage& s : program.storages)  // nor is the weight unpacked anywhere
      EXPECT_LE(s.bytes, std::max(kBytes, 4 * kRows * kIn)) << network::name(p);
  }
}

TEST(StoredWeights, AProductReadsThemOnceAndMultipliesAsOften) {
  for (const bool turned : {false, true}) {
    const Program program = program_of(product(turned), {.precision = Precision::fp16});
    ASSERT_THAT(program.kernels, testing::SizeIs(1)) << turned;
    const hardware::OperatorWork work = hardware::work_of(program.kernels[0]);
    EXPECT_EQ(program.kernels[0].operator_class, OperatorClass::counted);
    EXPECT_EQ(program.kernels[0].arithmetic, hardware::Arithmetic::fp16);
    EXPECT_EQ(work.bytes_read, kBytes + 2 * kRows * kIn);
    EXPECT_EQ(work.bytes_written, 2 * kRows * kOut);
    EXPECT_EQ(work.macs, kRows * kIn * kOut);
    EXPECT_THAT(program.stored_formats, ElementsAre("Q4_K"));
  }
}

TEST(StoredWeights, OfThePlainTypeThatIsComputedInTheKernelIsTheUsualOne) {
  Built b = product();
  network::set_stored(b.network, {{b.network.main().weights[0], "F16", 2 * kIn * kOut, true}});
  const Program half = program_of(b, {.precision = Precision::fp16});
  ASSERT_THAT(half.kernels, testing::SizeIs(1));
  EXPECT_EQ(half.kernels[0].operator_class, OperatorClass::matrix);
  EXPECT_THAT(half.stored_formats, IsEmpty());
  // Elsewhere it reads what is stored.
  const Program full = program_of(b, {.precision = Precision::fp32});
  EXPECT_EQ(hardware::work_of(full.kernels[0]).bytes_read, 2 * kIn * kOut + 4 * kRows * kIn);
}

TEST(StoredWeights, AreCountedAsTheyAre) {
  const Built b = product();
  const Counts counts = count(b.network, b.shapes, {});
  EXPECT_EQ(counts.weight_bytes, kBytes);
  EXPECT_EQ(counts.parameters, kIn * kOut);
  EXPECT_EQ(counts.forward.bytes_read.high, kBytes + 4 * kRows * kIn);
  EXPECT_EQ(counts.weight_sizes.bytes(Precision::int8), kBytes);
}

TEST(StoredWeights, AreNotTrained) {
  const Built b = product();
  const Result<Program> program = lower(b.network, b.shapes, {.mode = network::Mode::train}, {.gpu = true});
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().text(), HasSubstr("Q4_K"));
}

/// Half precision stored and asked is not halved twice: in memory, counts and kernels.
TEST(StoredWeights, OfANetworkInHalfPrecisionTakeTwoBytesEach) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    const Built b = built([&](Builder& n) {
      return n.add("MatMul", "product",
                   {input(n, "x", {1, kRows, kIn}, type), n.parameter("w", {kIn, kOut}, type)});
    });
    for (const Precision p : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      const Program program = program_of(b, {.precision = p});
      EXPECT_EQ(weight_bytes(program), 2 * kIn * kOut) << network::name(p);
      ASSERT_THAT(program.kernels, testing::SizeIs(1));
      EXPECT_EQ(hardware::work_of(program.kernels[0]).bytes_read, 2 * (kIn * kOut + kRows * kIn));
      EXPECT_EQ(count(b.network, b.shapes, {}).weight_sizes.bytes(p), 2 * kIn * kOut);
    }
    const Program asked = program_of(b, {.precision = Precision::bf16});
    EXPECT_EQ(asked.kernels[0].arithmetic, hardware::Arithmetic::bf16);
  }
}

}  // namespace
}  // namespace plimsoll::program
