"""Objects in S3 or anything that speaks it. Transfers have checksums; a commit is a conditional put."""

import hashlib
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from components.records.errors import ConfigError, InfrastructureError
from components.store.space import no_space_named

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_TAKEN = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_MD5 = re.compile(r"[0-9a-f]{32}")
_ABSENT = {"NoSuchKey", "404", "NotFound"}


class S3Objects:
    """Objects under `s3://bucket/prefix`; what is fetched is cached in a local folder of the same layout."""

    local = False

    def __init__(self, url: str, cache: Path, *, endpoint_url: str | None = None) -> None:
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if not url.startswith("s3://") or not bucket:
            raise ConfigError("store", url, "s3://bucket or s3://bucket/prefix")
        self.url = url.rstrip("/")
        self._bucket, self._prefix = bucket, prefix.strip("/")
        self._cache = cache / bucket / self._prefix
        self.endpoint_url = endpoint_url or os.environ.get("AWS_ENDPOINT_URL") or None
        self._connected: S3Client | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_connected": None}  # a worker process connects for itself

    def read(self, name: str) -> bytes | None:
        """See `ObjectStore`."""
        with self._errors():
            return self._client.get_object(Bucket=self._bucket, Key=self._key(name))["Body"].read()
        return None

    def write(self, name: str, data: bytes, *, only_new: bool = False) -> bool:
        """See `ObjectStore`."""
        from botocore.exceptions import ClientError

        with self._errors():
            try:
                if only_new:
                    self._client.put_object(
                        Bucket=self._bucket, Key=self._key(name), Body=data, IfNoneMatch="*"
                    )
                else:
                    self._client.put_object(Bucket=self._bucket, Key=self._key(name), Body=data)
            except ClientError as error:
                if only_new and error.response["Error"]["Code"] in _TAKEN:
                    return False
                raise
        return True

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `ObjectStore`."""
        with self._errors():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._key(prefix) + "/"
            )
            return {
                self._name(item["Key"]): item["Size"] for page in pages for item in page.get("Contents", [])
            }
        return {}

    def md5(self, name: str) -> str | None:
        """See `ObjectStore`. The server's word (ETag) where that is an md5, else the bytes."""
        with self._errors():
            found = self._client.get_object(Bucket=self._bucket, Key=self._key(name))
            etag = found["ETag"].strip('"')
            if _MD5.fullmatch(etag) and found.get("ServerSideEncryption", "AES256") == "AES256":
                return etag
            digest = hashlib.md5(usedforsecurity=False)
            for chunk in found["Body"].iter_chunks(1 << 20):
                digest.update(chunk)
            return digest.hexdigest()
        return None

    def children(self, folder: str, starting: str = "") -> list[str]:
        """See `ObjectStore`."""
        above = self._key(folder) + "/"
        names: set[str] = set()
        with self._errors():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=above + starting, Delimiter="/"
            )
            for page in pages:
                names.update(item["Key"][len(above) :] for item in page.get("Contents", []))
                names.update(
                    item["Prefix"][len(above) :].rstrip("/") for item in page.get("CommonPrefixes", [])
                )
        return sorted(names)

    def delete(self, name: str) -> None:
        """See `ObjectStore`."""
        with self._errors():
            for each in [name, *self.sizes(name)]:
                self._client.delete_object(Bucket=self._bucket, Key=self._key(each))

    def publish(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        """See `ObjectStore`. Files appear one by one: readers come by a manifest, which is written last."""
        there = self.sizes(name)
        for path, sha256 in files.items():
            target = f"{name}/{path}"
            if there.get(target) == (folder / path).stat().st_size and self._sha256(target) == sha256:
                continue
            with self._errors():
                self._client.upload_file(
                    str(folder / path),
                    self._bucket,
                    self._key(target),
                    ExtraArgs={"Metadata": {"sha256": sha256}},
                )

    def fetch(self, name: str, *, fresh: bool = False) -> Path:
        """See `ObjectStore`."""
        path = self._cache / name
        if path.exists() and not fresh:
            return path
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with self._errors(), no_space_named(self._cache):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._client.download_file(self._bucket, self._key(name), str(part))
            if not part.exists():
                raise FileNotFoundError(self.locate(name))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path

    def locate(self, name: str) -> str:
        """See `ObjectStore`."""
        return f"{self.url}/{name}"

    @property
    def _client(self) -> "S3Client":
        if self._connected is None:
            import boto3
            from botocore.config import Config

            config = Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10)
            self._connected = boto3.client("s3", endpoint_url=self.endpoint_url, config=config)
        return self._connected

    def _sha256(self, name: str) -> str | None:
        with self._errors():
            head = self._client.head_object(Bucket=self._bucket, Key=self._key(name))
            return head["Metadata"].get("sha256")
        return None

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _name(self, key: str) -> str:
        return key[len(self._prefix) + 1 :] if self._prefix else key

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Pass over an absent object; anything else that S3 says is an `InfrastructureError`."""
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            yield
        except ClientError as error:
            if error.response["Error"]["Code"] not in _ABSENT:
                raise InfrastructureError(f"{self.url}: {error}") from error
        except NoCredentialsError as error:
            raise InfrastructureError(
                f"{self.url}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
            ) from error
        except (BotoCoreError, Boto3Error) as error:
            raise InfrastructureError(f"{self.url}: {error}") from error
