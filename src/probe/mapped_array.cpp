#include "probe/mapped_array.hpp"

#include <sys/mman.h>

#include "base/text.hpp"

namespace plimsoll::probe {

Result<void*> map_pages(std::size_t bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return std::unexpected(Error{
        fmt::format("the system does not give {} of memory", text(Bytes(static_cast<std::int64_t>(bytes)))),
        {},
        {},
        Error::Kind::machine_lacks});
  // Advice: where the kernel does not take it, small pages do, at the cost of more misses of the TLB.
  (void)::madvise(pages, bytes, MADV_HUGEPAGE);
  return pages;
}

void unmap_pages(void* pages, std::size_t bytes) {
  (void)::munmap(pages, bytes);
}

}  // namespace plimsoll::probe
