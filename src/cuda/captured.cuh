#pragma once
#include <functional>

#include "cuda/runtime.cuh"

namespace plimsoll::cuda {

/// What `launch` puts into a stream, recorded once and from then on launched together.
class Captured {
 public:
  Captured(const Stream& stream, const std::function<void()>& launch) {
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    launch();
    check(cudaStreamEndCapture(stream.get(), &graph_), "cudaStreamEndCapture");
    const cudaError_t code = cudaGraphInstantiate(&executable_, graph_, 0);
    if (code != cudaSuccess) cudaGraphDestroy(graph_);
    check(code, "cudaGraphInstantiate");
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void replay(const Stream& stream) const {
    check(cudaGraphLaunch(executable_, stream.get()), "cudaGraphLaunch");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace plimsoll::cuda
