/* The C interface of the VTA runtime: the original's calls, by their names, on Kiln's devices.
 *
 * A program written for the original includes this header in place of the original's. One command handle a process, one
 * thread at a time. Calls that go wrong leave their message for VTAGetLastError; those that return int then return -1.
 */
#ifndef KILN_TARGETS_VTA_VTA_RUNTIME_H_
#define KILN_TARGETS_VTA_VTA_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* VTACommandHandle;

/* Which mask of VTABufferCopy says that data goes to a buffer, and that it comes from one. */
#define VTA_MEMCPY_H2D 1
#define VTA_MEMCPY_D2H 2
#define VTA_DEBUG_DUMP_INSN (1 << 1)
#define VTA_DEBUG_DUMP_UOP (1 << 2)
#define VTA_DEBUG_SKIP_READ_BARRIER (1 << 3)
#define VTA_DEBUG_SKIP_WRITE_BARRIER (1 << 4)
#define VTA_DEBUG_FORCE_SERIAL (1 << 5)

/* Not of the original. The design point (a name of `kiln list accelerators`, a YAML file, or the original's JSON; "":
 * the original's default) and the device ("functional", "cycle", "rtl", "remote:HOST:PORT") of the next command handle.
 * Ends the one there is. 0, or -1. A program that never calls it, or with NULL, gets those that the environment names:
 * KILN_VTA_CONFIG (nothing: the original's default), KILN_VTA_DEVICE (nothing: "functional"). */
int VTASelectDevice(const char* device, const char* config);
/* The message of the last call that went wrong since the last call of this function; "" where none did. Stands until
 * the next call. */
const char* VTAGetLastError(void);

/* Buffers: handles, not pointers to data. NULL where there is no room. */
void* VTABufferAlloc(size_t size);
void VTABufferFree(void* buffer);
/* Offsets and size in bytes; a side that `kind_mask` does not call a buffer is a pointer of the host. A handle there,
 * or a mask of other bits, is an error, and nothing is copied. */
void VTABufferCopy(const void* from, size_t from_offset, void* to, size_t to_offset, size_t size,
                   int kind_mask);
/* Where the host finds a buffer's data; the argument itself if it is no buffer. Of a device that is elsewhere this is
 * a copy, and the barriers below carry data over: VTAReadBarrier what the host has written, VTAWriteBarrier what the
 * device has. NULL where the device is lost, or the buffer has been freed. */
void* VTABufferCPUPtr(VTACommandHandle cmd, void* buffer);

VTACommandHandle VTATLSCommandHandle(void);
void VTARuntimeShutdown(void);
void VTASetDebugMode(VTACommandHandle cmd, int debug_flag);

/* Devices in this process see what the host writes: for them these check their arguments and do nothing. */
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

/* A kernel's body calls VTAUopLoopBegin, VTAUopPush and VTAUopLoopEnd, and returns 0; where a call in it goes wrong,
 * the kernel is none, and the push returns -1. `*uop_handle` is NULL at first
 * and belongs to the runtime then; after a shutdown what it holds counts as NULL. */
int VTAPushGEMMOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes);
int VTAPushALUOp(void** uop_handle, int (*finit)(void*), void* signature, int nbytes);
void VTAUopPush(uint32_t mode, uint32_t reset_out, uint32_t dst_index, uint32_t src_index,
                uint32_t wgt_index, uint32_t opcode, uint32_t use_imm, int32_t imm_val);
void VTAUopLoopBegin(uint32_t extent, uint32_t dst_factor, uint32_t src_factor,
                     uint32_t wgt_factor);
void VTAUopLoopEnd(void);

/* Stages: 1 load, 2 compute, 3 store. */
int VTADepPush(VTACommandHandle cmd, int from_qid, int to_qid);
int VTADepPop(VTACommandHandle cmd, int from_qid, int to_qid);

void VTASynchronize(VTACommandHandle cmd, uint32_t wait_cycles);

#ifdef __cplusplus
}
#endif

#endif /* KILN_TARGETS_VTA_VTA_RUNTIME_H_ */
