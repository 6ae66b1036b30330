from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="lltm_cpp",
    ext_modules=[CppExtension(name="lltm_cpp", sources=["lltm.cpp"])],
    cmdclass={"build_ext": BuildExtension},
)
