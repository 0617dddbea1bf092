// Kernels of a known shape for a known time, to see what programs that share a GPU do to each other:
// sharing_physics.py starts several of these at one moment. Prints one line of JSON.
//
// usage: sharing_physics watch BEGIN SECONDS
//        sharing_physics spin|triad BEGIN SECONDS KERNELS BLOCKS THREADS SHARED_BYTES NANOSECONDS|ELEMENTS
//        graph|eager PAUSE_US STEPS_PER_WAIT
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>
#define C(x)                                                     \
  do {                                                           \
    cudaError_t err_ = (x);                                      \
    if (err_ != cudaSuccess) {                                   \
      fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(err_)); \
      exit(3);                                                   \
    }                                                            \
  } while (0)
__device__ unsigned long long gt() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__global__ void watch(unsigned long long until, unsigned long long* out, int* n, int most,
                      unsigned long long least) {
  unsigned long long last = gt(), now;
  int k = *n;
  until += last;
  while ((now = gt()) < until) {
    if (now - last > least && k < most) {
      out[2 * k] = last;
      out[2 * k + 1] = now;
      k++;
    }
    last = now;
  }
  *n = k;
}
__global__ void spin(long long ns) {  // by the clock of the SM: it stands still while switched out
  long long c = (long long)(ns * 1.98);
  long long b = clock64();
  while (clock64() - b < c);
}
__global__ void triad(float* a, const float* b, const float* c, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    a[i] = b[i] + 2 * c[i];
}
static double wall() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(int argc, char** argv) {
  std::string mode = argv[1];
  double begin = atof(argv[2]), seconds = atof(argv[3]);
  C(cudaFree(0));
  cudaStream_t s;
  C(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  auto until_begin = [&] {
    while (wall() < begin) usleep(200);
  };
  if (mode == "watch") {
    const int most = 4000;
    unsigned long long* out;
    int* n;
    C(cudaMallocManaged(&out, most * 16));
    C(cudaMallocManaged(&n, 4));
    *n = 0;
    // device time now
    watch<<<1, 1, 0, s>>>(0, out, n, most, 20000);
    C(cudaStreamSynchronize(s));
    until_begin();
    // until: relative to the device's clock: use host realtime? take from a first kernel
    unsigned long long* t0;
    C(cudaMallocManaged(&t0, 8));
    timespec r;
    clock_gettime(CLOCK_REALTIME, &r);
    unsigned long long now = r.tv_sec * 1000000000ull + r.tv_nsec;
    unsigned long long endt = (unsigned long long)(seconds * 1e9);
    now = 0;
    watch<<<1, 1, 0, s>>>(endt, out, n, most, 20000);
    C(cudaStreamSynchronize(s));
    printf("{\"mode\":\"watch\",\"gaps\":[");
    for (int i = 0; i < *n; i++)
      printf("%s[%llu,%llu]", i ? "," : "", out[2 * i] / 1000 % 100000000000ull,
             out[2 * i + 1] / 1000 % 100000000000ull);
    printf("]}\n");
    return 0;
  }
  // spin: kernels blocks threads smem ns kind(graph|eager) pause_us sync_every
  int kernels = atoi(argv[4]), blocks = atoi(argv[5]), threads = atoi(argv[6]), smem = atoi(argv[7]);
  long long ns = atoll(argv[8]);
  bool graph = !strcmp(argv[9], "graph");
  double pause = atof(argv[10]);
  int sync = atoi(argv[11]);
  if (smem > 48 * 1024) C(cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
  float *a = nullptr, *b = nullptr, *c = nullptr;
  size_t n = 64 << 20;
  if (mode == "triad") {
    C(cudaMalloc(&a, n * 4));
    C(cudaMalloc(&b, n * 4));
    C(cudaMalloc(&c, n * 4));
  }
  auto one = [&] {
    if (mode == "triad")
      triad<<<blocks, threads, 0, s>>>(a, b, c, (size_t)ns);
    else
      spin<<<blocks, threads, smem, s>>>(ns);
  };
  cudaGraph_t g;
  cudaGraphExec_t x;
  if (graph) {
    C(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; i++) one();
    C(cudaStreamEndCapture(s, &g));
    C(cudaGraphInstantiate(&x, g, 0));
  }
  auto step = [&] {
    if (graph)
      C(cudaGraphLaunch(x, s));
    else
      for (int i = 0; i < kernels; i++) {
        one();
        if (pause > 0) {
          double t = wall() + pause * 1e-6;
          while (wall() < t);
        }
      }
  };
  for (int i = 0; i < 3; i++) step();
  C(cudaStreamSynchronize(s));
  until_begin();
  double t0 = wall();
  long steps = 0;
  cudaEvent_t ev[2];
  for (auto& e : ev) C(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  double end = t0 + seconds;
  int chunk = 0;
  if (sync > 0) {
    while (wall() < end) {
      for (int i = 0; i < sync; i++) step();
      C(cudaStreamSynchronize(s));
      steps += sync;
    }
  } else {  // two chunks always queued
    int per = -sync;
    bool first = true;
    while (wall() < end) {
      for (int i = 0; i < per; i++) step();
      C(cudaEventRecord(ev[chunk & 1], s));
      if (!first) {
        C(cudaEventSynchronize(ev[(chunk + 1) & 1]));
        steps += per;
      }
      first = false;
      chunk++;
    }
  }
  double t1 = wall();
  C(cudaStreamSynchronize(s));
  printf("{\"mode\":\"%s\",\"steps\":%ld,\"seconds\":%.6f,\"us_per_step\":%.3f}\n", mode.c_str(), steps,
         t1 - t0, 1e6 * (t1 - t0) / steps);
}
