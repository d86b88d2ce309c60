// A folder with a design in SystemVerilog that stands by itself: the modules of rtl/ that it needs, its own top, memory
// images, a testbench, and a Makefile with lint, sim and synth.
#ifndef KILN_HARDWARE_RTL_PROJECT_H_
#define KILN_HARDWARE_RTL_PROJECT_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::hardware {

struct RtlProject {
  std::string top;       // name of the top module
  std::string top_text;  // its SystemVerilog; modules of rtl/ are found by the names it mentions
  // Files of rtl/testbench that the simulation is built from: a main program and its headers.
  std::vector<std::string> testbench;
  std::string simulation_arguments;                         // of `make sim`
  std::vector<std::pair<std::string, std::string>> others;  // name and text: images, headers
};

// Where the SystemVerilog library is: $KILN_RTL, else with the files that come with Kiln (support/installation.h).
// Error: no library there.
StatusOr<std::filesystem::path> RtlLibrary();

// Error: a blank or a control character in the folder's path, with which nothing can be built there. Other characters
// may be in it: Makefile and script name files relative to the folder, which can be moved.
Status CheckRtlPath(const std::filesystem::path& folder);
// Errors: that one; the folder holds files, and is none that WriteRtlProject wrote (no design.mk in it names a TOP).
Status CheckRtlFolder(const std::filesystem::path& folder);
// The same of a folder that may also hold nothing but such folders, one a design, as the rtl level of some families
// writes them.
Status CheckRtlFolders(const std::filesystem::path& folder);

// Writes the project: all of it or, after an error, nothing of what was not there before. `folder` is made; what an
// earlier project has there under the same names is overwritten, and what it has written (emitted.txt lists it) and
// this one does not is taken away. Everything else stays, what make has built in build/ among it. Nothing is written,
// or taken away, through a link below `folder`. Errors: CheckRtlFolder's; something other than a regular file where a
// file of the project goes.
//   TOP.sv, filelist.f, Makefile (rtl/testbench/Makefile), design.mk, synth.ys (synthesis_flow.h), waivers.vlt, rtl/
//   (flat), testbench/, and `others`
Status WriteRtlProject(const RtlProject& project, const std::filesystem::path& folder);

// Writes a further file to a project's folder: `name` below it. It is the project's, and goes with it.
Status AddToRtlProject(const std::filesystem::path& folder, const std::string& name,
                       const std::string& text);

// Builds the simulation of a project that this process has written (make build/simulate) and returns its program's
// path; the log stands in build/build.log. With `trace` it is one that can record waveforms. What else is in the folder
// takes no part in it: the project's files are built in a temporary folder, the results replace those in build/, and
// a program that stands there already is run only if this process built it of the same files. Errors: something below
// build/ is neither a regular file nor a folder; make's.
StatusOr<std::filesystem::path> BuildSimulation(const std::filesystem::path& folder,
                                                bool trace = false);

// Modules and packages of the library that `text` needs, directly or through others, as paths relative to it: packages
// first, in the order of packages.f, then modules by name.
StatusOr<std::vector<std::string>> NeededFiles(const std::filesystem::path& library,
                                               const std::string& text);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_RTL_PROJECT_H_
