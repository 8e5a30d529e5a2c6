#include <cstdio>
int main() { std::puts("modeldoctor 0.1.0"); }
