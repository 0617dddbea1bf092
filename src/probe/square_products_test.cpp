#include "probe/square_products.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "probe/blas.hpp"

namespace plimsoll::probe {
namespace {

template <class Number>
struct Sample {
  explicit Sample(std::int64_t n)
      : size(n),
        a(*MappedArray<Number>::map(n * n)),
        b(*MappedArray<Number>::map(n * n)),
        c(*MappedArray<Number>::map(n * n)) {
    fill_whole_numbers(a.span(), 3);
    fill_whole_numbers(b.span(), 4);
  }
  [[nodiscard]] Matrices<Number> matrices() const { return {a.data(), b.data(), c.data(), size}; }
  std::int64_t size;
  MappedArray<Number> a, b, c;
};

TEST(SquareProducts, NaiveIsTheFormula) {
  const Sample<float> s(3);
  multiply_naively(s.matrices(), {0, 2});
  multiply_naively(s.matrices(), {2, 3});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) sum += s.a.data()[i * 3 + k] * s.b.data()[k * 3 + j];
      EXPECT_EQ(s.c.data()[i * 3 + j], sum);
    }
  EXPECT_EQ(deviation(s.matrices()), 0);
}

template <class Number>
void expect_blocked_right(std::int64_t size, int threads) {
  const Sample<Number> s(size);
  std::ranges::fill(s.c.span(), Number(NAN));
  const auto blocked = BlockedProduct<Number>::prepare(size, threads);
  ASSERT_TRUE(blocked);
  for (int thread = 0; thread < threads; ++thread) blocked->multiply(s.matrices(), thread);
  EXPECT_EQ(deviation(s.matrices()), 0) << size << " by " << threads;
  EXPECT_GT(blocked->bytes(), 3.0 * sizeof(Number) * static_cast<double>(size * size));
}

TEST(SquareProducts, BlockedIsRightAtEverySize) {
  for (const std::int64_t size : {1, 2, 31, 32, 33, 119, 120, 121, 255, 256, 257, 300})
    for (const int threads : {1, 2, 5}) {
      expect_blocked_right<float>(size, threads);
      expect_blocked_right<double>(size, threads);
    }
}

TEST(SquareProducts, BlockedMovesLessThanNaive) {
  const auto blocked = BlockedProduct<float>::prepare(2048, 2);
  ASSERT_TRUE(blocked);
  EXPECT_LT(100 * blocked->bytes(), naive_bytes(2048));
  // 2 * 2048^3 loads of a float, and the result stored.
  EXPECT_DOUBLE_EQ(naive_bytes(2048), 4 * (2 * std::pow(2048.0, 3) + std::pow(2048.0, 2)));
}

TEST(SquareProducts, ADeviationIsFoundWhereverItIs) {
  const Sample<float> s(65);
  multiply_naively(s.matrices(), {0, 65});
  for (std::int64_t at = 0; at < 65 * 65; at += 64) {  // every column
    float& element = s.c.data()[at];
    const float kept = element;
    element += 1;
    EXPECT_GT(deviation(s.matrices()), 0) << at;
    element = NAN;
    EXPECT_TRUE(std::isinf(deviation(s.matrices()))) << at;
    element = kept;
  }
  EXPECT_EQ(deviation(s.matrices()), 0);
}

TEST(Blas, WhatIsFoundMultiplies) {
  const Result<Blas> blas = Blas::open();
  if (!blas) GTEST_SKIP() << blas.error().text();
  EXPECT_FALSE(blas->name().empty());
  blas->use_threads(1);
  const Sample<float> s(70);
  blas->multiply(s.a.data(), s.b.data(), s.c.data(), 70);
  EXPECT_EQ(deviation(s.matrices()), 0);
  if (!blas->multiplies_doubles()) return;
  const Sample<double> d(70);
  blas->multiply(d.a.data(), d.b.data(), d.c.data(), 70);
  EXPECT_EQ(deviation(d.matrices()), 0);
}

TEST(Blas, ItsThreadsTakeNoSignals) {
  const Result<Blas> blas = Blas::open();
  if (!blas) GTEST_SKIP() << blas.error().text();
  blas->use_threads(2);
  const Sample<float> s(256);
  blas->multiply(s.a.data(), s.b.data(), s.c.data(), 256);
  // All threads but this one are the library's; SigBlk is a mask of signals, the second lowest bit is SIGINT.
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) {
        EXPECT_TRUE(std::stoull(line.substr(7), nullptr, 16) & 2U) << line;
      }
  }
}

TEST(Blas, NoneAndOthersAreRefused) {
  const Result<Blas> none = Blas::open({"libplimsoll_no_such.so"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, Error::Kind::machine_lacks);
  EXPECT_NE(none.error().hint.find("libopenblas0"), std::string::npos);
  EXPECT_FALSE(Blas::open({"libc.so.6"}));
}

}  // namespace
}  // namespace plimsoll::probe
