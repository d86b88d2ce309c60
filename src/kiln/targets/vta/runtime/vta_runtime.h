/* The C interface of the VTA runtime: the original's calls, under their names, on Kiln's devices.
 *
 * A program written for the original includes this header in place of the original's. There is one
 * command handle per process, and only one thread at a time may make calls. A call that fails
 * leaves a message for VTAGetLastError; if it returns int, it returns -1.
 */
#ifndef KILN_TARGETS_VTA_RUNTIME_VTA_RUNTIME_H_
#define KILN_TARGETS_VTA_RUNTIME_VTA_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* VTACommandHandle;

/* Bits of the mask of VTABufferCopy: the destination is a buffer, the source is a buffer. */
#define VTA_MEMCPY_H2D 1
#define VTA_MEMCPY_D2H 2
#define VTA_DEBUG_DUMP_INSN (1 << 1)
#define VTA_DEBUG_DUMP_UOP (1 << 2)
#define VTA_DEBUG_SKIP_READ_BARRIER (1 << 3)
#define VTA_DEBUG_SKIP_WRITE_BARRIER (1 << 4)
#define VTA_DEBUG_FORCE_SERIAL (1 << 5)

/* Selects the device ("functional", "cycle", "rtl", "remote:HOST:PORT") and the design point (a
 * name of `kiln list accelerators`, a YAML file, or the original's JSON; "": the original's
 * default) of the next command handle, and ends the current one. Returns 0, or -1 on errors. If a
 * program never makes this call, or passes NULL, the environment names them: KILN_VTA_DEVICE (by
 * default "functional") and KILN_VTA_CONFIG (by default the original's default). The original does
 * not have this call. */
int VTASelectDevice(const char* device, const char* config);
/* Returns the message of the last call that failed since the last call of this function, or "" if
 * none did. The text is valid until the next call of this function. */
const char* VTAGetLastError(void);

/* Allocates a buffer of `size` bytes. Returns a handle, which is not a pointer to data, or NULL if
 * there is no memory. */
void* VTABufferAlloc(size_t size);
void VTABufferFree(void* buffer);
/* Copies bytes; offsets and size are in bytes. A side that `kind_mask` does not mark as a buffer is
 * a pointer of the host. If that is a handle, or if the mask has other bits, the call fails and
 * copies nothing. */
void VTABufferCopy(const void* from, size_t from_offset, void* to, size_t to_offset, size_t size,
                   int kind_mask);
/* Returns a pointer to a buffer's data, or the argument itself if it is not a buffer. For a remote
 * device the pointer refers to a copy, and the barriers below transfer data: VTAReadBarrier what
 * the host has written, VTAWriteBarrier what the device has written. Returns NULL if the device is
 * lost or the buffer has been freed. */
void* VTABufferCPUPtr(VTACommandHandle cmd, void* buffer);

VTACommandHandle VTATLSCommandHandle(void);
void VTARuntimeShutdown(void);
void VTASetDebugMode(VTACommandHandle cmd, int debug_flag);

/* Transfer data as described at VTABufferCPUPtr. For devices in this process, which share memory
 * with the host, these calls only check their arguments. */
void VTAReadBarrier(VTACommandHandle cmd, void* buffer, uint32_t elem_bits, uint32_t start,
                    uint32_t extent);
void VTAWriteBarrier(VTACommandHandle cmd, void* buffer, uint32_t elem_bits, uint32_t start,
                     uint32_t extent);

void VTALoadBuffer2D(VTACommandHandle cmd, void* src_dram_addr, uint32_t src_elem_offset,
                     uint32_t x_size, uint32_t y_size, uint32_t x_stride, uint32_t x_pad_before,
                     uint32_t y_pad_before, uint32_t x_pad_after, uint32_t y_pad_after,
                     uint32_t dst_sram_index, uint32_t dst_memory_type);
void VTAStoreBuffer2D(VTACommandHandle cmd, uint32_t src_sram_index, uint32_t src_memory_type,
                      void* dst_dram_addr, uint32_t dst_elem_offset, uint32_t x_size,
                      uint32_t y_size, uint32_t x_stride);

/* Append an instruction that runs a kernel. The kernel's body `finit` calls VTAUopLoopBegin,
 * VTAUopPush and VTAUopLoopEnd, and returns 0. If a call in it fails, no kernel is made, and the
 * push returns -1. `*uop_handle` must be NULL at first and then belongs to the runtime; after a
 * shutdown its value counts as NULL. */
int VTAPushGEMMOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes);
int VTAPushALUOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes);
void VTAUopPush(uint32_t mode, uint32_t reset_out, uint32_t dst_index, uint32_t src_index,
                uint32_t wgt_index, uint32_t opcode, uint32_t use_imm, int32_t imm_val);
void VTAUopLoopBegin(uint32_t extent, uint32_t dst_factor, uint32_t src_factor,
                     uint32_t wgt_factor);
void VTAUopLoopEnd(void);

/* Add a dependency between neighbouring stages: 1 load, 2 compute, 3 store. */
int VTADepPush(VTACommandHandle cmd, int from_qid, int to_qid);
int VTADepPop(VTACommandHandle cmd, int from_qid, int to_qid);

void VTASynchronize(VTACommandHandle cmd, uint32_t wait_cycles);

#ifdef __cplusplus
}
#endif

#endif /* KILN_TARGETS_VTA_RUNTIME_VTA_RUNTIME_H_ */
