// The description of a machine's registers: addresses, access, fields and named values, the
// counters, and how software starts a program and learns how it ended. The list in the documents
// and the C header of an emitted folder are made from it. A family describes its registers in
// isa/registers.h; tests compare the description with the RTL.
#ifndef KILN_HARDWARE_REGISTER_MAP_H_
#define KILN_HARDWARE_REGISTER_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::hardware {

// Bits [high:low] of a register.
struct RegisterField {
  std::string name;  // "START"
  int high, low;
  std::string text;  // for documents, without a full stop
};

// A value of a register that has a meaning, such as an error code.
struct RegisterValue {
  uint32_t value;
  std::string name;  // "bad_opcode"
  std::string text;
};

// A register of 32 bits, or of two words whose high half is called NAME_HIGH and follows 4 bytes
// later; reading a low half latches its high half. With `count` above 1 there are several, `stride`
// bytes apart.
struct Register {
  std::string name;  // "PROGRAM_ADDRESS"
  uint32_t address;  // in bytes
  bool readable = false, writable = false;
  std::string text;  // for documents, without a full stop
  std::vector<RegisterField> fields = {};
  std::vector<RegisterValue> values = {};
  int words = 1;
  int count = 1;
  uint32_t stride = 0;
};

// A counter of the last run; readable.
struct CounterRegister {
  std::string name;  // "array.busy"
  uint32_t address;
  int words;
  std::string text;
};

// Register values that software compares or writes: the bits of `mask` have the value `value`.
struct RegisterBits {
  std::string name;  // of the register
  uint32_t mask, value;
};

// How software runs a program.
struct ProgramControl {
  // The registers that select a program, in the order in which they are written. Registers of two
  // words are written word by word. Empty: the machine runs no programs, and the driver cannot be
  // used.
  std::vector<std::string> program;
  // Whether those of two words hold addresses of the machine's buses, to which the driver adds the
  // address of its memory there. Else they count from the beginning of the memory, or are none.
  bool has_bus_addresses = false;
  RegisterBits start;  // the value that is written
  RegisterBits busy;   // while a program runs
  RegisterBits ended;  // after the end of a program, with or without an error
  std::string error;   // the register of the error's number, 0: no error; its values are the errors
  std::string error_place;  // the register that says where in the program
  std::string cycles;       // the register of the program's cycles
  // The value that ends a running program with an error; no name: the machine cannot be stopped.
  RegisterBits stop = {"", 0, 0};
};

struct RegisterMap {
  std::string machine;  // for a comment: "the machine of ..."
  std::string page;     // of the documents: "docs/rtl.md"
  uint32_t identity;    // the value of the register IDENTITY, which every map has
  uint32_t version;     // the value of VERSION; 0: there is no such register
  std::vector<Register> registers;
  std::vector<CounterRegister> counters;
  ProgramControl control;
  // Addresses [first, last] in which reads of words without a register are answered by 0; elsewhere
  // they are errors. Empty: first > last.
  uint32_t first_unused = 1, last_unused = 0;
  uint32_t bytes = 0x1000;  // of addresses that software maps
};

// Returns the register of this name. There must be one.
const Register& FindRegister(const RegisterMap& map, const std::string& name);

// Returns the words [0x000, 0x1000) that can be read or written, in ascending order.
struct RegisterWord {
  uint32_t address;
  std::string name;  // "CYCLES_HIGH", "BASE 3", "array.busy"
  bool readable, writable;
};
std::vector<RegisterWord> WordsOf(const RegisterMap& map);

// Return Markdown for the documents: an item for each register, and one for each counter.
std::string RegisterList(const RegisterMap& map);
std::string CounterList(const RegisterMap& map);

// Returns a C header, driver/kiln_registers.h with the default prefix:
//   KILN_REG_NAME, KILN_REG_NAME_HIGH       byte addresses (of the first, with KILN_NAME_COUNT and
//                                           KILN_NAME_STRIDE, where there are several)
//   KILN_NAME_FIELD, KILN_NAME_FIELD_SHIFT  the mask of a field, and its lowest bit
//   KILN_COUNTERS(C), KILN_ERRORS(E)        lists: C(name, address, words), E(number, name, text)
// and, if the machine runs programs, the names that driver/kiln_driver.c needs, which have the
// default prefix.
std::string RegisterHeader(const RegisterMap& map, const std::string& prefix = "KILN");

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_REGISTER_MAP_H_
