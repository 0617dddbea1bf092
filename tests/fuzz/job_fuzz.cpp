// Any bytes, taken for a job, an engine's answer and a safetensors file, must give a value or one error; and
// what was read must survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "job/answer.hpp"
#include "job/job.hpp"
#include "job/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a file holds
  // characters
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<job::Job> read = job::read(text)) {
    const Result<job::Job> again = job::read(job::write(*read));
    if (!again || !(again->network == read->network)) std::abort();
  } else if (read.error().text().empty()) {
    std::abort();
  }
  if (const Result<job::Answer> read = job::read_answer(text)) {
    if (const Result<job::Answer> again = job::read_answer(job::write(*read));
        !again || again->index() != read->index())
      std::abort();
  } else if (read.error().text().empty()) {
    std::abort();
  }
  if (const auto arrays = job::read_safetensors_header(std::as_bytes(std::span(data, size)))) {
    for (const auto& [name, array] : *arrays)
      if (array.offset < 0 || array.bytes < 0 || static_cast<std::size_t>(array.offset + array.bytes) > size)
        std::abort();
  }
  return 0;
}
