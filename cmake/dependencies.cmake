# Finds all libraries. They come from Debian's packages; tools/packages.txt lists them.
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # digests

pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
add_library(kiln::zip ALIAS PkgConfig::LIBZIP)

pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)  # integer programs
add_library(kiln::cbc ALIAS PkgConfig::CBC)

find_package(cryptominisat5 REQUIRED CONFIG)  # satisfiability
add_library(kiln::sat ALIAS cryptominisat5)

# Gradients, to train learned mappers. Debian's CMake package of libtorch adds
# flags for compilers, so the libraries are found directly.
find_path(TORCH_FOLDER torch/torch.h PATH_SUFFIXES torch/csrc/api/include REQUIRED)
find_library(TORCH_LIBRARY torch REQUIRED)
find_library(TORCH_CPU_LIBRARY torch_cpu REQUIRED)
find_library(TORCH_C10_LIBRARY c10 REQUIRED)
add_library(kiln_torch INTERFACE)
target_include_directories(kiln_torch SYSTEM INTERFACE ${TORCH_FOLDER})
target_link_libraries(kiln_torch
  INTERFACE ${TORCH_LIBRARY} ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY})
add_library(kiln::torch ALIAS kiln_torch)

# Asio without Boost needs only its headers and threads.
find_package(Threads REQUIRED)
find_path(ASIO_FOLDER asio.hpp REQUIRED)
add_library(kiln_asio INTERFACE)
target_compile_definitions(kiln_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(kiln_asio INTERFACE Threads::Threads)
add_library(kiln::asio ALIAS kiln_asio)

if(KILN_BUILD_TESTS OR KILN_BUILD_BENCH)
  pkg_check_modules(GMPXX REQUIRED IMPORTED_TARGET gmpxx)  # exact rationals, for oracles
  add_library(kiln::gmp ALIAS PkgConfig::GMPXX)
endif()
if(KILN_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(KILN_BUILD_BENCH)
  find_package(benchmark REQUIRED)
  # oneDNN, to compare speeds with. Debian's CMake package of dnnl requires OpenCL, which the CPU
  # library does not need, so the library is found directly.
  find_library(DNNL_LIBRARY dnnl REQUIRED)
endif()
