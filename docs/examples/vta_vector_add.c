/* Adds two vectors on a VTA by calls of the original VTA's runtime, and prints "right" if all sums
 * are right.
 *
 *   cc -I PREFIX/include vta_vector_add.c -L PREFIX/lib -Wl,-rpath,PREFIX/lib \
 *      -lkiln_vta_runtime -o vta_vector_add
 *
 * The environment variable KILN_VTA_DEVICE names the device: functional (the default), cycle, rtl,
 * or remote:HOST:PORT.
 */
#include <kiln/vta_runtime.h>
#include <stdint.h>
#include <stdio.h>

enum { kElements = 64, kLanes = 16, kNumbers = kElements * kLanes };
enum { kAccumulators = 3, kOutputs = 4 }; /* memories */
enum { kCompute = 2, kStore = 3 };        /* stages */
enum { kAdd = 2 };

/* accumulator[i] += accumulator[64 + i] */
static int AddKernel(void* signature) {
  (void)signature;
  VTAUopLoopBegin(kElements, 1, 1, 0);
  VTAUopPush(1, 0, 0, kElements, 0, kAdd, 0, 0);
  VTAUopLoopEnd();
  return 0;
}

int main(void) {
  static int32_t a[kNumbers], b[kNumbers];
  static int8_t sums[kNumbers];
  void* kernel = NULL;
  VTACommandHandle cmd = VTATLSCommandHandle();
  void* device_a = VTABufferAlloc(sizeof(a));
  void* device_b = VTABufferAlloc(sizeof(b));
  void* device_sums = VTABufferAlloc(sizeof(sums));
  int i, wrong = 0;
  for (i = 0; i < kNumbers; ++i) {
    a[i] = i % 50;
    b[i] = -(i % 70);
  }
  VTABufferCopy(a, 0, device_a, 0, sizeof(a), VTA_MEMCPY_H2D);
  VTABufferCopy(b, 0, device_b, 0, sizeof(b), VTA_MEMCPY_H2D);

  VTALoadBuffer2D(cmd, device_a, 0, kElements, 1, kElements, 0, 0, 0, 0, 0, kAccumulators);
  VTALoadBuffer2D(cmd, device_b, 0, kElements, 1, kElements, 0, 0, 0, 0, kElements, kAccumulators);
  VTAPushALUOp(&kernel, AddKernel, NULL, 0);
  VTADepPush(cmd, kCompute, kStore); /* the store waits for the sums */
  VTADepPop(cmd, kCompute, kStore);
  VTAStoreBuffer2D(cmd, 0, kOutputs, device_sums, 0, kElements, 1, kElements);
  VTASynchronize(cmd, 1 << 20);

  VTABufferCopy(device_sums, 0, sums, 0, sizeof(sums), VTA_MEMCPY_D2H);
  for (i = 0; i < kNumbers; ++i) wrong += sums[i] != a[i] + b[i];
  VTABufferFree(device_a);
  VTABufferFree(device_b);
  VTABufferFree(device_sums);
  {
    const char* error = VTAGetLastError();
    if (*error != '\0') {
      fprintf(stderr, "%s\n", error);
      return 1;
    }
  }
  VTARuntimeShutdown();
  printf(wrong == 0 ? "right\n" : "%d wrong\n", wrong);
  return wrong != 0;
}
