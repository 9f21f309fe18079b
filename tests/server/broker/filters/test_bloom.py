"""The bloom filter: geometry, hash and bits; ``tests/interop`` holds many against Java's."""

import pytest

from mqserver.broker.filters.bloom import BloomFilter, bit_map, has_all, murmur3_64


def test_geometry_and_bits_of_a_stock_broker() -> None:
    bloom = BloomFilter(20, 32)

    assert (bloom.bit_count, bloom.hash_count) == (112, 3)
    # Out of a consumerFilter.json that the real broker wrote.
    assert bloom.positions("HFCT_GSQL#HFCT_T1") == [35, 15, 4]
    assert bloom.positions("HFCT_GSQL_R#HFCT_T1_R") == [110, 94, 78]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", 0),
        (b"hello", 0xCBD8A7B341BD9B02),
        (b"The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C),
    ],
)
def test_hash_is_murmur3(data: bytes, value: int) -> None:
    assert murmur3_64(data) == value


def test_bit_maps_hold_what_was_put_in() -> None:
    bits = bit_map(112, [0, 9, 111])

    assert bits.hex() == "0102" + "00" * 11 + "80"
    assert has_all(bits, [9, 0])
    assert not has_all(bits, [9, 1])


def test_positions_of_another_geometry_do_not_fit() -> None:
    bloom = BloomFilter(20, 32)

    assert bloom.fits([1, 2, 111], 112)
    assert not bloom.fits([1, 2], 112)
    assert not bloom.fits([1, 2, 112], 112)
    assert not bloom.fits([1, 2, 3], 64)
    assert not bloom.fits(None, 112)


@pytest.mark.parametrize(("rate", "count"), [(0, 1), (100, 1), (20, 0)])
def test_impossible_geometries_are_refused(rate: int, count: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        BloomFilter(rate, count)
