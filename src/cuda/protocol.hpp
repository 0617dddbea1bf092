#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "cuda/answer.hpp"
#include "cuda/job.hpp"

/// Jobs and answers of plimsoll-cuda as JSON text, and back. Reading checks every name and number.
namespace plimsoll::cuda {

[[nodiscard]] std::string write(const Job& job);
[[nodiscard]] Result<Job> read_job(std::string_view text);

[[nodiscard]] std::string write(const Answer& answer);
[[nodiscard]] Result<Answer> read_answer(std::string_view line);

/// The largest job, and the longest line of an answer, that are read.
inline constexpr std::size_t kMostJobBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;

[[nodiscard]] std::string_view name(Load load);  ///< "product-bf16"

}  // namespace plimsoll::cuda
