#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "run/job.hpp"

namespace plimsoll::running {

/// A JobSpec as other processes receive it: one JSON object, sizes in bytes, times in seconds. What was not
/// given is absent. Words may be any bytes, as a command's may (job/fields.hpp says how they stand).
[[nodiscard]] job::Json job_json(const JobSpec& spec);
[[nodiscard]] std::string to_json(const JobSpec& spec);

/// Strict: a key that is not known, a value of another kind, and what contradicts itself are refused. What
/// is read equals what was written.
[[nodiscard]] Result<JobSpec> read_job_spec(const job::Json& object);
[[nodiscard]] Result<JobSpec> job_spec_from_json(std::string_view text);

/// Equal jobs have equal digests, and others hardly ever: 16 hexadecimal digits.
[[nodiscard]] std::string digest_of(const JobSpec& spec);

}  // namespace plimsoll::running
