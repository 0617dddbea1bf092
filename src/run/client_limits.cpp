#include "run/client_limits.hpp"

#include <memory>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "base/process.hpp"

namespace plimsoll::running {
namespace {

std::unexpected<Error> lacks(std::string message) {
  return std::unexpected(Error{std::move(message), "CUDA", {}, Error::Kind::machine_lacks});
}

constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

}  // namespace

// The driver's interface is declared by hand, as NVML's is: the build needs neither CUDA nor its headers.
Result<CudaFacts> read_cuda_facts(const std::string& library) {
  const std::unique_ptr<void, int (*)(void*)> opened(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                     ::dlclose);
  if (!opened) return lacks(fmt::format("cannot open {}", library));
  const auto function = [&]<class Signature>(const char* name, Signature*& target) {
    target = reinterpret_cast<Signature*>(::dlsym(opened.get(), name));
    return target != nullptr;
  };
  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*context_create)(void**, unsigned, int) = nullptr;
  int (*context_destroy)(void*) = nullptr;
  int (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  if (!function("cuInit", init) || !function("cuDriverGetVersion", driver_version) ||
      !function("cuDeviceGet", device_get) || !function("cuDeviceGetAttribute", attribute) ||
      !function("cuCtxCreate_v2", context_create) || !function("cuCtxDestroy_v2", context_destroy) ||
      !function("cuMemGetInfo_v2", memory_info))
    return lacks(fmt::format("{} is not CUDA's driver", library));
  CudaFacts facts;
  int device = 0;
  void* context = nullptr;
  if (const int code = init(0); code != 0) return lacks(fmt::format("cannot be initialised (code {})", code));
  driver_version(&facts.driver);
  if (const int code = device_get(&device, 0); code != 0)
    return lacks(fmt::format("there is no device (code {})", code));
  if (const int code = context_create(&context, 0, device); code != 0)
    return lacks(fmt::format("no context could be made (code {})", code));
  std::size_t free = 0;
  std::size_t total = 0;
  const int counted = attribute(&facts.multiprocessors, kMultiprocessorCount, device);
  const int measured = memory_info(&free, &total);
  context_destroy(context);
  if (counted != 0 || measured != 0)
    return lacks(fmt::format("does not tell its limits (codes {}, {})", counted, measured));
  facts.free = Bytes(static_cast<std::int64_t>(free));
  facts.total = Bytes(static_cast<std::int64_t>(total));
  return facts;
}

std::string to_json(const CudaFacts& facts) {
  return nlohmann::ordered_json{{"multiprocessors", facts.multiprocessors},
                                {"free_bytes", facts.free.count()},
                                {"total_bytes", facts.total.count()},
                                {"cuda_driver", facts.driver}}
      .dump();
}

Result<CudaFacts> cuda_facts_from_json(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return fail("is no JSON object");
  const auto integer = [&](const char* key) -> std::int64_t {
    const auto found = parsed.find(key);
    return found != parsed.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
  };
  const CudaFacts facts{static_cast<int>(integer("multiprocessors")), Bytes(integer("free_bytes")),
                        Bytes(integer("total_bytes")), static_cast<int>(integer("cuda_driver"))};
  if (facts.multiprocessors < 0 || facts.free < Bytes() || facts.total < Bytes())
    return fail("lacks a figure");
  return facts;
}

Result<CudaFacts> probe_cuda(const std::string& program, const Variables& variables) {
  ProcessOptions options;
  options.argv = {program, "cuda-facts"};
  options.environment = variables;
  options.timeout = std::chrono::seconds(60);
  options.output_limit = 4096;
  Result<ProcessOutput> answer = plimsoll::run(options);
  if (!answer) return std::unexpected(std::move(answer).error());
  if (!answer->succeeded()) return lacks(fmt::format("the probe {}: {}", answer->outcome(), answer->error));
  return cuda_facts_from_json(answer->output);
}

}  // namespace plimsoll::running
