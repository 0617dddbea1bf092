#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.hpp"

namespace plimsoll::probe {

/// Memory straight from the kernel: at the beginning of a page, in large pages where there are any, and not
/// there until touched.
[[nodiscard]] Result<void*> map_pages(std::size_t bytes);
void unmap_pages(void* pages, std::size_t bytes);

/// An array in such memory, of zeros; given back when the object goes.
template <class Number>
class MappedArray {
 public:
  [[nodiscard]] static Result<MappedArray> map(std::int64_t count) {
    const Result<void*> pages = map_pages(static_cast<std::size_t>(count) * sizeof(Number));
    PLIMSOLL_TRY(pages);
    return MappedArray(static_cast<Number*>(*pages), count);
  }
  MappedArray(MappedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  MappedArray& operator=(MappedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray() {
    if (data_ != nullptr) unmap_pages(data_, static_cast<std::size_t>(count_) * sizeof(Number));
  }

  [[nodiscard]] Number* data() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] std::span<Number> span() const { return {data_, static_cast<std::size_t>(count_)}; }

 private:
  MappedArray(Number* data, std::int64_t count) : data_(data), count_(count) {}
  Number* data_;
  std::int64_t count_;
};
using Floats = MappedArray<float>;

}  // namespace plimsoll::probe
